// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// Plain is a token without authorizations and without a permit, with the list of blocked accounts of TetherToken: its
// transfer returns nothing. Every account has as much as mint gave it. The code reads nothing that a constructor wrote, so
// it can be copied to another address.
contract Plain {
    uint8 public constant decimals = 6;
    string public constant symbol = "USDT";
    bool private unused; // balanceOf has the slot that it has in Authorized
    mapping(address => uint256) public balanceOf;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
    }

    // setBlocked blocks an account, or releases it if blocked is 0.
    function setBlocked(address account, uint256 blocked) external {
        isBlackListed[account] = blocked != 0;
    }

    function transfer(address to, uint256 value) external {
        require(!isBlackListed[msg.sender], "blocked");
        require(balanceOf[msg.sender] >= value, "too little");
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
    }
}
