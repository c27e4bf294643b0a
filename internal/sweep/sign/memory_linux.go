package sign

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps the memory of this process out of core dumps, out of reach of other processes of the same user and out
// of the swap space. It returns a sentence for each protection that the system refused.
func Harden() (refused []string) {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		refused = append(refused, fmt.Sprintf("Core dumps are not disabled: %v.", err))
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		refused = append(refused, fmt.Sprintf("Other processes may read the memory of this one: %v.", err))
	}
	// MCL_ONFAULT locks pages when they are used: Go reserves much more memory than it uses.
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		refused = append(refused, fmt.Sprintf("Memory may be written to the swap space: %v.", err))
	}
	return refused
}
