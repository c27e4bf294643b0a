// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// Token implements the transfers of ERC-20. It does not check the sender's balance: every account
// can send any amount.
contract Token {
    string public symbol = "EURC";
    uint8 public decimals = 6;
    mapping(address => uint256) public balanceOf; // received and not sent
    uint256 public fee; // part of a transfer that does not arrive, in percent

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

    // payAndFail logs a transfer and reverts.
    function payAndFail(address to, uint256 value) external {
        transfer(to, value);
        revert("no");
    }
}

// Odd emits logs that resemble transfers of a token.
contract Odd {
    event Transfer(address indexed from, address indexed to, uint256 value);

    // fake emits the event of a transfer without a transfer.
    function fake(address to, uint256 value) external {
        emit Transfer(msg.sender, to, value);
    }

    // nft emits the event of ERC-721: four topics and no data.
    function nft(address to, uint256 id) external {
        bytes32 topic = keccak256("Transfer(address,address,uint256)");
        assembly {
            log4(0, 0, topic, caller(), to, id)
        }
    }

    // through transfers a token by a call from this contract.
    function through(Token token, address to, uint256 value) external {
        token.transfer(to, value);
    }
}
