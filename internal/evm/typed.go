package evm

import "math/big"

// Domain is the domain of typed data: the token contract that accepts it. See EIP-712, "Definition of
// domainSeparator".
type Domain struct {
	Name     string
	Version  string
	ChainID  uint64
	Contract Address
}

// domainType is the type of a Domain.
const domainType = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"

// Separator returns the domain separator, which a token returns from DOMAIN_SEPARATOR().
func (d Domain) Separator() Hash {
	return StructHash(domainType, Word(Keccak256([]byte(d.Name))), Word(Keccak256([]byte(d.Version))), NumberWord(d.ChainID), AddressWord(d.Contract))
}

// StructHash returns hashStruct of a structure with an encoded type and with encoded members. See EIP-712,
// "Definition of hashStruct".
func StructHash(encodedType string, members ...Word) Hash {
	hash := Keccak256([]byte(encodedType))
	return Keccak256(appendWords(hash[:], members...))
}

// TypedDigest returns the hash that is signed for a structure in a domain. See EIP-712, "Specification".
func TypedDigest(domain Domain, structHash Hash) Hash {
	separator := domain.Separator()
	return Keccak256([]byte{0x19, 0x01}, separator[:], structHash[:])
}

// Authorization allows anyone to submit one transfer of a token. See EIP-3009, "transferWithAuthorization".
type Authorization struct {
	From, To    Address
	Value       *big.Int // in the smallest units of the token
	ValidAfter  uint64   // Unix time in seconds; the transfer needs a later block time
	ValidBefore uint64   // Unix time in seconds; the transfer needs an earlier block time
	Nonce       Hash
}

// AuthorizationType is the type of an Authorization.
const AuthorizationType = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"

// words returns the members of an authorization.
func (a Authorization) words() []Word {
	return []Word{AddressWord(a.From), AddressWord(a.To), UintWord(a.Value), NumberWord(a.ValidAfter), NumberWord(a.ValidBefore), Word(a.Nonce)}
}

// Digest returns the hash that From signs.
func (a Authorization) Digest(domain Domain) Hash {
	return TypedDigest(domain, StructHash(AuthorizationType, a.words()...))
}

// CallData returns the data of the call that makes the transfer.
func (a Authorization) CallData(s Signature) []byte {
	const function = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
	return EncodeCall(function, append(a.words(), NumberWord(uint64(s.V)), Word(s.R), Word(s.S))...)
}
