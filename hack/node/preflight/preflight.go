/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package preflight checks whether a machine can run real nodes, and says what to do if it can't.
package preflight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
)

// Facts are the relevant facts about a machine and the user.
type Facts struct {
	// OS is the operating system, as Go names it.
	OS string
	// UID is the effective user id.
	UID int
	// Capabilities are the effective ones, one bit each.
	Capabilities uint64
	// Packages are the missing Debian packages.
	Packages []string
}

// capability is a capability that nodes require.
type capability struct {
	name string
	bit  uint
}

func capabilities() []capability {
	return []capability{{"CAP_NET_ADMIN", 12}, {"CAP_SYS_CHROOT", 18}, {"CAP_SYS_ADMIN", 21}, {"CAP_MKNOD", 27}}
}

// Problem returns an error with all obstacles other than missing packages, or nil.
func (f Facts) Problem() error {
	if f.OS != "linux" {
		return fmt.Errorf("real nodes require Linux, and this is %s: use a virtual machine; make demo and make test work without Linux", f.OS)
	}
	if f.UID != 0 {
		return errors.New("real nodes require root, because they create namespaces, mounts and control groups: run it as root, for example with sudo -E")
	}
	var missing []string
	for _, c := range capabilities() {
		if f.Capabilities&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("root lacks %s here: in a container, start it with --privileged", strings.Join(missing, ", "))
	}
	return nil
}

// Look returns the facts about this machine.
func Look() (Facts, error) {
	facts := Facts{OS: runtime.GOOS, UID: os.Geteuid()}
	if facts.OS != "linux" {
		return facts, nil
	}
	self, err := procfs.Self()
	if err != nil {
		return facts, fmt.Errorf("read the capabilities: %w", err)
	}
	status, err := self.NewStatus()
	if err != nil {
		return facts, fmt.Errorf("read the capabilities: %w", err)
	}
	facts.Capabilities = status.CapEff
	facts.Packages = missingPackages(exec.LookPath)
	return facts, nil
}

// Programs of Debian packages.
const (
	Runc = "runc"
	// Plugin is one of the CNI plugins, which are all in one folder.
	Plugin = "/usr/lib/cni/ptp"
	nft    = "nft"
	ip     = "ip"
)

// missingPackages returns the packages whose program isn't found.
func missingPackages(find func(program string) (string, error)) []string {
	var missing []string
	for _, p := range []struct{ program, name string }{
		{Runc, "runc"}, {Plugin, "containernetworking-plugins"}, {nft, "nftables"}, {ip, "iproute2"},
	} {
		if _, err := find(p.program); err != nil {
			missing = append(missing, p.name)
		}
	}
	return missing
}

// Install installs the missing packages with apt-get.
func (f Facts) Install(ctx context.Context, out io.Writer) error {
	if len(f.Packages) == 0 {
		return nil
	}
	names := strings.Join(f.Packages, " ")
	byHand := "install the Debian packages " + names + ", or their equivalents on your system, by hand (CNI plugins in " + filepath.Dir(Plugin) + ")"
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s are missing and there is no apt-get here: %s", names, byHand)
	}
	fmt.Fprintf(out, "installing the Debian packages %s\n", names)
	install := append([]string{"install", "--yes", "--no-remove", "--no-install-recommends"}, f.Packages...)
	if apt(ctx, install) == nil {
		return nil
	}
	err := apt(ctx, []string{"update"}) // the lists of packages may be missing or outdated
	if err == nil {
		err = apt(ctx, install)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, byHand)
	}
	return nil
}

func apt(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, bytes.TrimSpace(output))
	}
	return nil
}
