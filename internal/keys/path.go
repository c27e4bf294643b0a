package keys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
)

// The depths of BIP 44, "Path levels", from which addresses are derived.
const (
	accountDepth = 3   // m/purpose'/coin'/account': addresses are 0/index
	chainDepth   = 4   // m/purpose'/coin'/account'/change: addresses are index
	maxDepth     = 255 // of any key: see BIP 32, "Serialization format"
)

// The errors about a path that are used in more than one place.
const (
	hardenedStep = "it has a hardened step (h or ') after its key, which only the private key can derive"
	oneAddress   = "its key does not end in /*, so it has only one address: use the ending of your wallet, usually /0/*"
)

// path holds the steps from an extended key to the key from which indexes are derived. None of them
// is hardened.
type path []uint32

// parsePath parses the text after an extended key and a slash, such as 0/* and 1/2/*. If a step has
// several branches, as in <0;1>/*, it uses the first, which is the one for receiving. See BIP 389,
// "Specification".
func parsePath(text string) (path, error) {
	steps := strings.Split(text, "/")
	last := len(steps) - 1
	switch steps[last] {
	case "*":
	case "*h", "*'", "*H":
		return nil, descriptorError(hardenedStep)
	default:
		return nil, descriptorError(oneAddress)
	}
	p, forked := make(path, 0, last), false
	for _, step := range steps[:last] {
		branches, err := parseStep(step)
		if err != nil {
			return nil, err
		}
		if forked && len(branches) > 1 {
			return nil, descriptorError("it has several branches at more than one step")
		}
		forked = forked || len(branches) > 1
		p = append(p, branches[0])
	}
	return p, nil
}

// parseStep parses the branches of one step: a single number, or several as in <0;1>.
func parseStep(text string) (branches []uint32, err error) {
	numbers := []string{text}
	if fork, ok := strings.CutPrefix(text, "<"); ok {
		fork, closed := strings.CutSuffix(fork, ">")
		numbers = strings.Split(fork, ";")
		if !closed || len(numbers) < 2 {
			return nil, descriptorError("several branches are written as in <0;1>")
		}
	}
	for _, number := range numbers {
		if strings.HasSuffix(strings.ToLower(number), "h") || strings.HasSuffix(number, "'") {
			return nil, descriptorError(hardenedStep)
		}
		index, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return nil, descriptorError("a step after its key is not a number from 0 to 2147483647")
		}
		if slices.Contains(branches, uint32(index)) {
			return nil, descriptorError("it names a branch twice")
		}
		branches = append(branches, uint32(index))
	}
	return branches, nil
}

// usualPath returns the path at which wallets have the receiving addresses of a key that was given
// without a path.
func (x extended) usualPath() (path, error) {
	switch {
	case x.depth == accountDepth:
		return path{0}, nil
	case x.depth == chainDepth && x.child < hardened:
		return path{}, nil
	case x.depth == chainDepth:
		// m/48'/0'/0'/2' and similar paths, see BIP 48.
		return nil, fmt.Errorf("%w: a hardened key at depth 4 belongs to a multisig wallet", ErrDepth)
	}
	return nil, fmt.Errorf("%w: its depth is %d, not 3 or 4, so for BTC and LTC give a descriptor, which contains the path of the addresses", ErrDepth, x.depth)
}

// descend returns the key at the end of a path.
func (x extended) descend(p path) (*hdkeychain.ExtendedKey, error) {
	if int(x.depth)+len(p) >= maxDepth { // addresses are one deeper
		return nil, fmt.Errorf("%w: its path leads deeper than %d", ErrDepth, maxDepth)
	}
	key := x.key()
	for _, step := range p {
		child, err := key.Derive(step)
		if err != nil {
			return nil, fmt.Errorf("derive branch: %w", err)
		}
		key = child
	}
	return key, nil
}

// String returns p as it follows an extended key: /* or /1/2/*.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		fmt.Fprintf(&b, "/%d", step)
	}
	return b.String() + "/*"
}
