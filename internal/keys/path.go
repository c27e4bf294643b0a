package keys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
)

// The depths of BIP 44, "Path levels", that addresses come from.
const (
	accountDepth = 3   // m/purpose'/coin'/account': addresses are 0/index
	chainDepth   = 4   // m/purpose'/coin'/account'/change: addresses are index
	maxDepth     = 255 // of any key: see BIP 32, "Serialization format"
)

// What is said of a path in more than one place.
const (
	hardenedStep = "it has a hardened step (h or ') after its key, which only the private key can take"
	oneAddress   = "its key does not end in /*, so it stands for one address: end it as your wallet does, mostly in /0/*"
)

// path is the steps from an extended key to the one that indexes are derived
// from. None is hardened.
type path []uint32

// parsePath reads what follows an extended key and a slash, as in 0/* and 1/2/*.
// Where a step has several branches, as in <0;1>/*, it takes the first, which is
// the one that receives. See BIP 389, "Specification".
func parsePath(text string) (path, error) {
	steps := strings.Split(text, "/")
	last := len(steps) - 1
	switch steps[last] {
	case "*":
	case "*h", "*'", "*H":
		return nil, unusable(hardenedStep)
	default:
		return nil, unusable(oneAddress)
	}
	p, forked := make(path, 0, last), false
	for _, step := range steps[:last] {
		branches, err := parseStep(step)
		if err != nil {
			return nil, err
		}
		if forked && len(branches) > 1 {
			return nil, unusable("it has several branches at more than one step")
		}
		forked = forked || len(branches) > 1
		p = append(p, branches[0])
	}
	return p, nil
}

// parseStep reads the branches of one step: a number alone, or several in <0;1>.
func parseStep(text string) (branches []uint32, err error) {
	numbers := []string{text}
	if fork, ok := strings.CutPrefix(text, "<"); ok {
		fork, closed := strings.CutSuffix(fork, ">")
		numbers = strings.Split(fork, ";")
		if !closed || len(numbers) < 2 {
			return nil, unusable("several branches are written as in <0;1>")
		}
	}
	for _, number := range numbers {
		if strings.HasSuffix(strings.ToLower(number), "h") || strings.HasSuffix(number, "'") {
			return nil, unusable(hardenedStep)
		}
		index, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return nil, unusable("a step after its key is not a number from 0 to 2147483647")
		}
		if slices.Contains(branches, uint32(index)) {
			return nil, unusable("it names a branch twice")
		}
		branches = append(branches, uint32(index))
	}
	return branches, nil
}

// usualPath is where wallets keep the receiving addresses of a key that comes
// without a path.
func (x extended) usualPath() (path, error) {
	switch {
	case x.depth == accountDepth:
		return path{0}, nil
	case x.depth == chainDepth && x.child < hardened:
		return path{}, nil
	case x.depth == chainDepth:
		// m/48'/0'/0'/2' and its kin, see BIP 48.
		return nil, fmt.Errorf("%w: a hardened key at depth 4 is that of a multisig wallet", ErrDepth)
	}
	return nil, fmt.Errorf("%w: its depth is %d, not 3 or 4, so for BTC and LTC give a descriptor, which says where the addresses are", ErrDepth, x.depth)
}

// descend is the key at the end of a path.
func (x extended) descend(p path) (*hdkeychain.ExtendedKey, error) {
	if int(x.depth)+len(p) >= maxDepth { // addresses are one deeper
		return nil, fmt.Errorf("%w: its path leads deeper than %d", ErrDepth, maxDepth)
	}
	key := x.key()
	for _, step := range p {
		below, err := key.Derive(step)
		if err != nil {
			return nil, fmt.Errorf("derive branch: %w", err)
		}
		key = below
	}
	return key, nil
}

// String is p as it follows an extended key: /* or /1/2/*.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		fmt.Fprintf(&b, "/%d", step)
	}
	return b.String() + "/*"
}
