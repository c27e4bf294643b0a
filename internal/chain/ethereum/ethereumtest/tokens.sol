// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// Token is the part of ERC-20 that moves money, without limits: everybody has
// enough of it.
contract Token {
    string public symbol = "EURC";
    uint8 public decimals = 6;
    mapping(address => uint256) public balanceOf; // of what it got and did not send
    uint256 public fee; // taken from what arrives, in percent

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint256 fee_) {
        fee = fee_;
    }

    function transfer(address to, uint256 value) public returns (bool) {
        uint256 arrives = value - value * fee / 100;
        uint256 has = balanceOf[msg.sender];
        balanceOf[msg.sender] = has > value ? has - value : 0;
        balanceOf[to] += arrives;
        emit Transfer(msg.sender, to, arrives);
        return true;
    }

    // pay sends several transfers in one transaction.
    function pay(address[] calldata to, uint256[] calldata value) external {
        for (uint256 i = 0; i < to.length; i++) transfer(to[i], value[i]);
    }

    // payAndFail logs a transfer and takes all of it back.
    function payAndFail(address to, uint256 value) external {
        transfer(to, value);
        revert("no");
    }
}

// Odd logs what looks like a transfer and is none.
contract Odd {
    event Transfer(address indexed from, address indexed to, uint256 value);

    // fake names a transfer of a token that this contract is not.
    function fake(address to, uint256 value) external {
        emit Transfer(msg.sender, to, value);
    }

    // nft logs as ERC-721 does: four topics and no data.
    function nft(address to, uint256 id) external {
        bytes32 topic = keccak256("Transfer(address,address,uint256)");
        assembly {
            log4(0, 0, topic, caller(), to, id)
        }
    }

    // through pays by a call from this contract.
    function through(Token token, address to, uint256 value) external {
        token.transfer(to, value);
    }
}
