package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path is a derivation path of BIP 32 from the master key.
type Path []uint32

// Hardened is the first index of hardened keys.
const Hardened = 1 << 31

// maxPath is the largest number of steps of a path; wallets use five.
const maxPath = 10

// errPath does not repeat the text, which may be a secret that was pasted by mistake.
var errPath = errors.New("not a derivation path such as m/44'/60'/0'/0/0")

// ParsePath parses a path such as m/44'/60'/0'. A hardened step ends in ' or h.
func ParsePath(text string) (Path, error) {
	steps := strings.Split(text, "/")
	if steps[0] != "m" || len(steps) < 2 || len(steps)-1 > maxPath {
		return nil, errPath
	}
	var p Path
	for _, step := range steps[1:] {
		digits := strings.TrimRight(step, "'h")
		n, err := strconv.ParseUint(digits, 10, 31)
		if err != nil || strconv.FormatUint(n, 10) != digits || len(step)-len(digits) > 1 {
			return nil, errPath
		}
		if len(step) > len(digits) {
			n += Hardened
		}
		p = append(p, uint32(n))
	}
	return p, nil
}

// String returns the path with ' for hardened steps.
func (p Path) String() string {
	var b strings.Builder
	b.WriteString("m")
	for _, step := range p {
		fmt.Fprintf(&b, "/%d", step&^Hardened)
		if step >= Hardened {
			b.WriteString("'")
		}
	}
	return b.String()
}

// Below returns the path with more steps.
func (p Path) Below(steps ...uint32) Path { return append(append(Path(nil), p...), steps...) }

// unknownAccount begins the paths of a plan whose account is unknown.
const unknownAccount = "…"

// PathText returns the path of a row as it is written in the plan.
func (p Plan) PathText(r Row) string {
	above := unknownAccount
	if len(p.Account) > 0 {
		above = p.Account.String()
	}
	return fmt.Sprintf("%s/%d/%d", above, r.Steps[0], r.Steps[1])
}

// parseSteps parses the path of a row, which must be below the account of the plan.
func (p Plan) parseSteps(text string) (steps [2]uint32, err error) {
	above := Path{0} // stands for an unknown account
	if len(p.Account) > 0 {
		above = p.Account
	} else {
		rest, ok := strings.CutPrefix(text, unknownAccount)
		if !ok {
			return steps, fmt.Errorf("the plan names no account, so it must begin with %s", unknownAccount)
		}
		text = above.String() + rest
	}
	path, err := ParsePath(text)
	if err != nil {
		return steps, err
	}
	if len(path) != len(above)+2 || path[:len(above)].String() != above.String() {
		return steps, fmt.Errorf("it is not two steps below the account %s", above)
	}
	if path[len(above)] >= Hardened || path[len(above)+1] >= Hardened {
		return steps, errors.New("a step below the account is hardened")
	}
	return [2]uint32(path[len(above):]), nil
}
