//go:build !linux

package sign

// Harden returns a sentence that says that the memory of this process is not protected.
func Harden() (refused []string) {
	return []string{"On this system the memory is not protected from other processes and from the swap space."}
}
