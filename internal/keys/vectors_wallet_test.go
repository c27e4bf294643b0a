package keys_test

import "chequer/internal/keys"

// wallet is an account key of the mnemonic "abandon" (eleven times) "about", which is public: never
// send real money to it.
type wallet struct {
	name    string
	kind    keys.Kind
	network keys.Network
	key     string
	script  keys.Script       // the script argument of Parse; empty if the letters determine it
	prefix  string            // of the stored form
	receive map[uint32]string // the addresses 0/index
	change  string            // the address 1/0
}

// wallets are from SLIP-132, "Bitcoin Test Vectors", and BIP 49, 84 and 86; those of m/44' and of
// Litecoin are computed, and their first addresses were found in unrelated public test suites.
var wallets = []wallet{
	{
		name: "BTC P2PKH xpub m/44'/0'/0'", kind: keys.BTC, network: keys.Main,
		key:    "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj",
		script: keys.P2PKH, prefix: "btc:p2pkh:xpub",
		receive: map[uint32]string{
			0:  "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA",
			1:  "1Ak8PffB2meyfYnbXZR9EGfLfFZVpzJvQP",
			2:  "1MNF5RSaabFwcbtJirJwKnDytsXXEsVsNb",
			19: "19hp5PzFjsD6z1hwMucUbLHAYeYDWdvB1B",
			20: "1FSCcgcjLvp8fE8qfTRLNFzPWaLZKSVnbM",
		},
		change: "1J3J6EvPrv8q6AC3VCjWV45Uf3nssNMRtH",
	},
	{
		name: "BTC P2SH-P2WPKH ypub m/49'/0'/0'", kind: keys.BTC, network: keys.Main,
		key:    "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcrArf3zbeJJJUZPf663zsP",
		script: "", prefix: "btc:p2sh-p2wpkh:xpub",
		receive: map[uint32]string{
			0:  "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf",
			1:  "3LtMnn87fqUeHBUG414p9CWwnoV6E2pNKS",
			2:  "3B4cvWGR8X6Xs8nvTxVUoMJV77E4f7oaia",
			19: "3FsmoJ9P2eUrKjd2ooa8UJVAeyMVPNkvp2",
			20: "3Qyobv1ZUg79doGWePdBWygEt5n5B97SXt",
		},
		change: "34K56kSjgUCUSD8GTtuF7c9Zzwokbs6uZ7",
	},
	{
		name: "BTC P2WPKH zpub m/84'/0'/0'", kind: keys.BTC, network: keys.Main,
		key:    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs",
		script: "", prefix: "btc:p2wpkh:xpub",
		receive: map[uint32]string{
			0:  "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
			1:  "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
			2:  "bc1qp59yckz4ae5c4efgw2s5wfyvrz0ala7rgvuz8z",
			19: "bc1q27yd7vz8m5kz230wuyncfe3pyazez6ah58yzy0",
			20: "bc1qy62dyq937vfjr5e8tj3ltx7zc6fw958tmvqa5l",
		},
		change: "bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el",
	},
	{
		name: "BTC P2TR xpub m/86'/0'/0'", kind: keys.BTC, network: keys.Main,
		key:    "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ",
		script: keys.P2TR, prefix: "btc:p2tr:xpub",
		receive: map[uint32]string{
			0:  "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
			1:  "bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh",
			2:  "bc1p0d0rhyynq0awa9m8cqrcr8f5nxqx3aw29w4ru5u9my3h0sfygnzs9khxz8",
			19: "bc1pd6nqrg63ex4025vaw89l9xke00zqjm5vdgm88us6036yqugpfdcq0dfmeg",
			20: "bc1p2hjxr5mp0u5av0807d2hah7vlzq3npllfsff0cgve79gwc0k5z9sew2hul",
		},
		change: "bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7",
	},
	{
		name: "BTC testnet P2SH-P2WPKH upub m/49'/1'/0'", kind: keys.BTC, network: keys.Test,
		key:    "upub5EFU65HtV5TeiSHmZZm7FUffBGy8UKeqp7vw43jYbvZPpoVsgU93oac7Wk3u6moKegAEWtGNF8DehrnHtv21XXEMYRUocHqguyjknFHYfgY",
		script: "", prefix: "btc:p2sh-p2wpkh:tpub",
		receive: map[uint32]string{
			0:  "2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2",
			1:  "2N55m54k8vr95ggehfUcNkdbUuQvaqG2GxK",
			2:  "2N9LKph9TKtv1WLDfaUJp4D8EKwsyASYnGX",
			19: "2MtpC7u3H88WHwMDRsDitc5YnAv12ZWGQzm",
			20: "2N64na3M65yZnwAQR5PaKHWgRasFgjUCrj2",
		},
		change: "2MvdUi5o3f2tnEFh9yGvta6FzptTZtkPJC8",
	},
	{
		name: "BTC testnet P2PKH tpub m/44'/1'/0'", kind: keys.BTC, network: keys.Test,
		key:    "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba",
		script: keys.P2PKH, prefix: "btc:p2pkh:tpub",
		receive: map[uint32]string{
			0:  "mkpZhYtJu2r87Js3pDiWJDmPte2NRZ8bJV",
			1:  "mzpbWabUQm1w8ijuJnAof5eiSTep27deVH",
			2:  "mnTkxhNkgx7TsZrEdRcPti564yQTzynGJp",
			19: "n3Zb38sLaM21q8dwDNZq7AsJda9omg6PuP",
			20: "n4FMbkd9mUiAHDj8mdfmd1rf6fmEq9f38a",
		},
		change: "mi8nhzZgGZQthq6DQHbru9crMDerUdTKva",
	},
	{
		name: "BTC testnet P2WPKH vpub m/84'/1'/0'", kind: keys.BTC, network: keys.Test,
		key:    "vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc",
		script: "", prefix: "btc:p2wpkh:tpub",
		receive: map[uint32]string{
			0:  "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl",
			1:  "tb1qd7spv5q28348xl4myc8zmh983w5jx32cjhkn97",
			2:  "tb1qxdyjf6h5d6qxap4n2dap97q4j5ps6ua8sll0ct",
			19: "tb1q4kestxh2w7r7h5hxvn4pn2qv2dldvylgj6t2kr",
			20: "tb1qgatph3xrdjvcq63xhwct77m2ufn93stn0pwwey",
		},
		change: "tb1q9u62588spffmq4dzjxsr5l297znf3z6j5p2688",
	},
	{
		name: "LTC P2PKH Ltub m/44'/2'/0'", kind: keys.LTC, network: keys.Main,
		key:    "Ltub2YDQmP391UYeDYvLye9P1SuNJFkcRGN7SYHM8JMxaDnegcPTXHJ2BnYmvHnFnGPGKu2WMuCga6iZV3SDxDMGrRyMcrYEfSPhrpS1EPkC43E",
		script: keys.P2PKH, prefix: "ltc:p2pkh:xpub",
		receive: map[uint32]string{
			0:  "LUWPbpM43E2p7ZSh8cyTBEkvpHmr3cB8Ez",
			1:  "Ldatw8ZjgMGNUo5HMN6RgCrjmh7q494Si3",
			2:  "LX4YojYdeBk3TtUcryCcgAqYxjicKfK7AD",
			19: "LQzUNSGmEhBRWLCkFvecifJaadxquAEGfx",
			20: "LLN38ee483Rgq5fQMpFXp6ixF9YHvEwbDo",
		},
		change: "LPCewns5E4BFTQ8NirD7sJZYFguXEJTxbL",
	},
	{
		name: "LTC P2SH-P2WPKH Mtub m/49'/2'/0'", kind: keys.LTC, network: keys.Main,
		key:    "Mtub2rz9F1pkisRsSZX8sa4Ajon9GhPP6JymLgpuHqbYdU5JKFLBF7Qy8b1tZ3dccj2fefrAxfrPdVkpCxuWn3g72UctH2bvJRkp6iFmp8aLeRZ",
		script: "", prefix: "ltc:p2sh-p2wpkh:xpub",
		receive: map[uint32]string{
			0:  "M7wtsL7wSHDBJVMWWhtQfTMSYYkyooAAXM",
			1:  "M92zAbFXY2J7NJXdFpJTe3a5PrsyZQhKZK",
			2:  "MJfELhwt9S6Sr9hadHGsnTELZzFUVjMrFc",
			19: "MAyh5P9tJ1SvRADhrXrvWiB9Tt4MUmYw3G",
			20: "MAFvwrmkZrpCW2S3qYCZSb2Zrc9acAiADq",
		},
		change: "MKM96scwusdaN84dfbQrFDxocYFnoBuc4Z",
	},
	{
		name: "LTC P2WPKH zpub bytes m/84'/2'/0'", kind: keys.LTC, network: keys.Main,
		key:    "zpub6rPo5mF47z5coVm5rvWv7fv181awb7Vckn5Cf3xQXBVKu18kuBHDhNi1Jrb4br6vVD3ZbrnXemEsWJoR18mZwkUdzwD8TQnHDUCGxqZ6swA",
		script: "", prefix: "ltc:p2wpkh:xpub",
		receive: map[uint32]string{
			0:  "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh",
			1:  "ltc1qwlezpr3890hcp6vva9twqh27mr6edadreqvhnn",
			2:  "ltc1qc6aucuznvhh9uvux246x24vf9y9ncfk729m92s",
			19: "ltc1q7azc8dpce9uwqddl5pr8wwkt9m7799sg7wt9fp",
			20: "ltc1qfygc3uucqhsdtkn55d9507msacw74wpuh4qtn8",
		},
		change: "ltc1qyeljcy9v88jg8sqvnqh0m5q390xruc5r98q9yy",
	},
	{
		name: "ETH account xpub m/44'/60'/0'", kind: keys.ETH, network: keys.Main,
		key:    "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt",
		script: "", prefix: "eth:xpub",
		receive: map[uint32]string{
			0:  "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
			1:  "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0",
			2:  "0xb6716976A3ebe8D39aCEB04372f22Ff8e6802D7A",
			19: "0x5096eEe90Aa1b783AF381669938C688F02bb43D8",
			20: "0x0f7479EC9cB833971eE60A4B09d7E048f689029B",
		},
		change: "0x399Db6Ed32539fbDF44c3e7678b5b428e378F666",
	},
}
