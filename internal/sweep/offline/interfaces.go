package offline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// ErrUnknown means that this system does not show its network interfaces as files.
var ErrUnknown = errors.New("the network interfaces are unknown")

// interfaceFolder is where Linux shows its network interfaces. See its Documentation/ABI/testing/sysfs-class-net.
const interfaceFolder = "/sys/class/net"

// IsConnected reports whether a network interface beside loopback is up. The error is ErrUnknown on systems other than
// Linux.
func IsConnected() (bool, error) {
	if runtime.GOOS != "linux" {
		return false, ErrUnknown
	}
	return isConnected(interfaceFolder)
}

// isConnected reports whether an interface of a folder is up.
func isConnected(folder string) (bool, error) {
	list, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, ErrUnknown
	}
	if err != nil {
		return false, err
	}
	for _, entry := range list {
		up, err := isUp(filepath.Join(folder, entry.Name()))
		if err != nil {
			return false, err
		}
		if up {
			return true, nil
		}
	}
	return false, nil
}

// Values of Linux: include/uapi/linux/if.h and if_arp.h.
const (
	flagUp       = 0x1
	flagLoopback = 0x8
)

// isUp reports whether an interface is enabled and not without a link. Interfaces that do not know their link, as those
// of some tunnels, count as up.
func isUp(folder string) (bool, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false, err // not an interface: bonding_masters is a file beside them
	}
	content, err := os.ReadFile(filepath.Join(folder, "flags"))
	if err != nil {
		return false, err
	}
	flags, err := strconv.ParseUint(strings.TrimSpace(string(content)), 0, 32)
	if err != nil {
		return false, err
	}
	if flags&flagUp == 0 || flags&flagLoopback != 0 {
		return false, nil
	}
	state, err := os.ReadFile(filepath.Join(folder, "operstate"))
	switch strings.TrimSpace(string(state)) {
	case "down", "notpresent", "lowerlayerdown":
		return false, err
	}
	return true, nil
}
