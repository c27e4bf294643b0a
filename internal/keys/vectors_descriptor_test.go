package keys_test

import "chequer/internal/keys"

// xpub84 is zpub84 with the letters of descriptors.
const xpub84 = "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"

// Keys of BIP 32 (vector 1), BIP 380 and BIP 382, at depths 0, 4 and 1.
const (
	xpub32  = "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8"
	xpub380 = "xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL"
	xpub382 = "xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH"
)

// checksums are BIP 380's "Test Vectors" of the checksum. Its function raw() is refused here, after
// the checksum was found valid.
var checksums = []struct{ text, message string }{
	{"raw(deadbeef)#89f8spxm", "raw() is a script"},
	{"raw(deadbeef)", "raw() is a script"},
	{"raw(deadbeef)#", "not 8 characters long"},
	{"raw(deadbeef)#89f8spxmx", "not 8 characters long"},
	{"raw(deadbeef)#89f8spx", "not 8 characters long"},
	{"raw(deedbeef)#89f8spxm", "checksum does not fit"},
	{"raw(deedbeef)##9f8spxm", "checksum does not fit"},
	{"raw(Ü)#00000000", "character that no descriptor has"},
}

// expressions are BIP 380's "Test Vectors" of public keys within wpkh(). The expressions that the
// BIP calls valid but that have only one address, or need the private key, are refused here.
var expressions = []struct{ text, message string }{
	{"[deadbeef/0h/1h/2h]" + xpub380 + "/3/4/5/*", ""},
	{"[deadbeef/0'/0h/0']" + xpub380 + "/*", ""},
	{"0260b2003c386519fc9eadf2b5cf124dd8eea4c4e68d5e154050a9346ea98ce600", "single public key"},
	{"04a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd5b8dec5235a0fa8722476c7709c02559e3aa73aa03918ba2d492eea75abea235", "single public key"},
	{"[deadbeef/0h/0h/0h]0260b2003c386519fc9eadf2b5cf124dd8eea4c4e68d5e154050a9346ea98ce600", "single public key"},
	{"[deadbeef/0'/0'/0']0260b2003c386519fc9eadf2b5cf124dd8eea4c4e68d5e154050a9346ea98ce600", "single public key"},
	{"[deadbeef/0'/0h/0']0260b2003c386519fc9eadf2b5cf124dd8eea4c4e68d5e154050a9346ea98ce600", "single public key"},
	{xpub380, "does not end in /*"},
	{"[deadbeef/0h/1h/2h]" + xpub380, "does not end in /*"},
	{"[deadbeef/0h/1h/2h]" + xpub380 + "/3/4/5", "does not end in /*"},
	{xpub380 + "/3h/4h/5h/*", "hardened step"},
	{xpub380 + "/3h/4h/5h/*h", "hardened step"},
	{"[deadbeef/0h/1h/2]" + xpub380 + "/3h/4h/5h/*h", "hardened step"},
	{"[deadbeef/0h/0h/0h/*]" + xpub380 + "/*", "step in its brackets"},
	{"[deadbeef/0h/0h/0h/]" + xpub380 + "/*", "step in its brackets"},
	{"[deadbef/0h/0h/0h]" + xpub380 + "/*", "8 hex digits"},
	{"[deadbeeef/0h/0h/0h]" + xpub380 + "/*", "8 hex digits"},
	{"[deadbeef/0f/0f/0f]" + xpub380 + "/*", "step in its brackets"},
	{"[deadbeef/0H/0H/0H]" + xpub380 + "/*", "not H"},
	{"[deadbeef/-0/-0/-0]" + xpub380 + "/*", "step in its brackets"},
	{xpub380 + "/2147483648/*", "step after its key"},
	{xpub380 + "/1aa/*", "step after its key"},
	{"[aaaaaaaa][aaaaaaaa]" + xpub380 + "/*", "brackets are allowed only once"},
	{"aaaaaaaa]" + xpub380 + "/*", "brackets are allowed only once"},
	{"[gaaaaaaa]" + xpub380 + "/*", "8 hex digits"},
	{"[deadbeef]", "not a valid extended public key"},
}

// multipaths are the vectors of BIP 389, "Test Vectors", that end in /*.
var multipaths = []struct{ text, message string }{
	{"wpkh([ffffffff/13h]" + xpub382 + "/<1;3>/2/*)", ""},
	{"wpkh(" + xpub382 + "/<0;1;2>/*)", ""},
	{"pkh(" + xpub382 + "/<0;1>/<2;3>/*)", "more than one step"},
	{"pkh([deadbeef/<0;1>]" + xpub382 + "/0/*)", "step in its brackets"},
	{"wpkh(" + xpub382 + "/<>/*)", "<0;1>"},
	{"wpkh(" + xpub382 + "/0>/*)", "step after its key"},
	{"wpkh(" + xpub382 + "/<0/*)", "<0;1>"},
	{"wpkh(" + xpub382 + "/<0;>/*)", "step after its key"},
	{"wpkh(" + xpub382 + "/<0;0>/*)", "a branch twice"},
	{"wpkh(" + xpub382 + "/<0;1h>/*)", "hardened step"},
	{"wpkh(" + xpub382 + "/<0>/*)", "<0;1>"},
}

// derived are addresses that other programs derived from descriptors: those of BIP 382 (as
// scripts), Litecoin Core 0.21.2.1 (deriveaddresses) and @bitcoinerlab/descriptors 3.2.0.
var derived = []struct {
	text   string
	kind   keys.Kind
	stored string
	want   map[uint32]string // addresses or scripts
}{
	{
		text: "wpkh([ffffffff/13']" + xpub382 + "/1/2/*)", kind: keys.BTC, stored: "btc:p2wpkh:" + xpub382 + "/1/2/*",
		want: map[uint32]string{
			0: "0014326b2249e3a25d5dc60935f044ee835d090ba859",
			1: "0014af0bd98abc2f2cae66e36896a39ffe2d32984fb7",
			2: "00141fa798efd1cbf95cebf912c031b8a4a6e9fb9f27",
		},
	},
	{
		text: "wpkh(" + xpub84 + "/1/2/*)", kind: keys.LTC, stored: "ltc:p2wpkh:" + xpub84 + "/1/2/*",
		want: map[uint32]string{
			0: "ltc1qv54qkh922tp2syc58nfsrsv9y2srj8tnzzsgaa",
			1: "ltc1qnsm6r3dtrkx5w3nqyr2aulm5mp7ugegn3zcmht",
			2: "ltc1qu3uxh0gjlzljaxt0e9pq6vqq3r0wnhdl9mgkuh",
		},
	},
	{
		text: "sh(wpkh([73c5da0a/84'/0h/0']" + xpub84 + "/5/*))", kind: keys.LTC, stored: "ltc:p2sh-p2wpkh:" + xpub84 + "/5/*",
		want: map[uint32]string{0: "M8SeXy7cJ7qW5Uve5xkPNyqWrthQSY4kah", 1: "M8q9c95mEcjXECwfgsQHxJaLvNkpf13mnC"},
	},
	{
		text: "pkh(" + xpub84 + "/*)", kind: keys.LTC, stored: "ltc:p2pkh:" + xpub84 + "/*",
		want: map[uint32]string{0: "LQbzGQsqxqQCGNjaZ3zHaUT8MiwajqkAcp", 1: "LaHF85tocY9BpDR6RqAXaW4gMWs9EURGNk"},
	},
	{
		text: "tr(" + xpub84 + "/0/1/2/*)", kind: keys.BTC, stored: "btc:p2tr:" + xpub84 + "/0/1/2/*",
		want: map[uint32]string{
			0:  "bc1p807w9d5qxaunzy0sm6h6yeu0vayvksvp94mu6jz8qgz5dypm9u0swtpfqc",
			1:  "bc1pvmf5d2uxkmsqh0y5mk9z93khrk7x9p0nz6w6ktwyxtw52e57pvmqtxa9g2",
			77: "bc1pqldk23ujjzlju7vk2p9p3hghdx5fqj5y80zsa3gxa6put6gqfsksal4n27",
		},
	},
	{
		text: "sh(wpkh(" + xpub32 + "/44/0/0/1/*))#8qxawwr7", kind: keys.BTC, stored: "btc:p2sh-p2wpkh:" + xpub32 + "/44/0/0/1/*",
		want: map[uint32]string{0: "346z9gjmbCCecVetBkctRXJfDPkcqk31kG", 1: "354CFXuXvfm31EFXTH4oensKEphSfh8tuu", 77: "3NpB7TAME7VSnmRfiQXggd1zFo4rjDiVjD"},
	},
	{
		text: "pkh(" + xpub32 + "/44/0/0/1/*)#4xnlymc9", kind: keys.BTC, stored: "btc:p2pkh:" + xpub32 + "/44/0/0/1/*",
		want: map[uint32]string{0: "13VQbiUS2vYZNPAidwy7UnD6Nx1QbWkdAx", 1: "13BJCTAR7H7iFaGjReJGXQkrUJsphPicnn", 77: "12xAhArMPW6XXtSVg8WEJCT2zicqz2xG8e"},
	},
	{
		text: "wpkh([73c5da0a/84h/0h/0h]" + xpub32 + "/0/*)", kind: keys.BTC, stored: "btc:p2wpkh:" + xpub32 + "/0/*",
		want: map[uint32]string{0: "bc1qp5wfcq48h6d63wyy9qz0awtpfqwwv4sma86mhz", 77: "bc1qdgjqz8uurlf5s7qawmrphr9ml490qt2r57pj9x"},
	},
}
