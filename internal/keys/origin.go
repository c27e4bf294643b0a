package keys

import (
	"fmt"
	"strconv"
	"strings"
)

// purposes maps the purpose, which is the first step of a wallet's path, to its script type. See BIP 44,
// BIP 49, BIP 84 and BIP 86.
var purposes = map[uint32]Script{44: P2PKH, 49: P2SHP2WPKH, 84: P2WPKH, 86: P2TR}

// parseSteps parses the steps of a path from the master key, such as m/84'/0'/0' and 84h/0h/0h.
func parseSteps(text string) (steps []uint32, err error) {
	text = strings.Trim(strings.TrimPrefix(text, "m"), "/")
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, "/") {
		number := strings.TrimRight(part, "h'")
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil || len(part)-len(number) > 1 {
			return nil, descriptorError("a step of its path is not a number from 0 to 2147483647, with h or ' (not H) when hardened")
		}
		if number != part {
			n += hardened
		}
		steps = append(steps, uint32(n))
	}
	return steps, nil
}

// scriptOfPurpose returns the script type for the purpose of a path. It returns "" if the path is invalid or
// its purpose has no script type.
func scriptOfPurpose(path string) Script {
	steps, err := parseSteps(path)
	if err != nil || len(steps) == 0 {
		return ""
	}
	return purposes[steps[0]&^hardened]
}

// Warnings returns what is wrong with the path given with k, because of which a wallet may show other
// addresses.
func (k Key) Warnings() []string { return k.warnings }

// pathWarnings returns warnings about a path from the master key: its unusual steps, and its contradictions
// to k.
func (k Key) pathWarnings(path string) (warnings []string, err error) {
	steps, err := parseSteps(path)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	if script, known := purposes[steps[0]&^hardened]; known && k.script != "" && script != k.script {
		warnings = append(warnings, fmt.Sprintf("its path begins with %s, which wallets use for %s addresses, not for %s", formatStep(steps[0]), script, k.script))
	}
	if _, known := purposes[steps[0]]; known { // the table has unhardened numbers
		warnings = append(warnings, fmt.Sprintf("its path begins with %s, which is not hardened: wallets use %s", formatStep(steps[0]), formatStep(steps[0]|hardened)))
	}
	depth, child := int(k.parsed.Depth()), k.parsed.ChildIndex()
	switch last := steps[len(steps)-1]; {
	case depth != len(steps):
		warnings = append(warnings, fmt.Sprintf("its path has %d steps, but the depth of the key is %d", len(steps), depth))
	case last != child:
		warnings = append(warnings, fmt.Sprintf("its path ends with %s, but the child number of the key is %s", formatStep(last), formatStep(child)))
	}
	return warnings, nil
}

// formatStep returns the text of a step of a path.
func formatStep(number uint32) string {
	if number >= hardened {
		return strconv.FormatUint(uint64(number-hardened), 10) + "'"
	}
	return strconv.FormatUint(uint64(number), 10)
}
