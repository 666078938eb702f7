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

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Guard decides to which addresses of the network the operator connects. The url of a source could lead it to services that trust the node
// or the operator otherwise.
type Guard struct {
	// Allow has the addresses that are permitted whatever they are.
	Allow []netip.Prefix
	// APIServers has the addresses of the API server, which are refused even if Allow has them: the operator may reach it where its users may not.
	// The ports count, as other services may have the same address.
	APIServers []netip.AddrPort
}

// refusal is the error of a connection that the guard refuses. It doesn't tell the address, which would answer who scans with names.
type refusal struct {
	what string
	// always reports whether no flag permits the address.
	always bool
}

func (r *refusal) Error() string { return r.of("of spec.url") }

// of returns the message about the host at a place.
func (r *refusal) of(place string) string {
	message := fmt.Sprintf("the host %s has %s, to which the operator doesn't connect", place, r.what)
	if r.always {
		return message
	}
	return message + ": see --source-allow-cidr"
}

// metadata returns the addresses at which clouds serve credentials of nodes, besides the link-local ones.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
		netip.MustParseAddr("168.63.129.16"),   // Azure
		netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
		netip.MustParseAddr("fd00:ec2::254"),   // AWS
		netip.MustParseAddr("fd20:ce::254"),    // Google Cloud
	}
}

// APIServers returns the addresses of API servers by their URLs. Those of names are looked up, once; the error is that of names that have none.
func APIServers(ctx context.Context, urls ...string) ([]netip.AddrPort, error) {
	var servers []netip.AddrPort
	var problems []error
	for _, of := range urls {
		server, _, err := rest.DefaultServerURL(of, "", schema.GroupVersion{}, true)
		if err != nil {
			problems = append(problems, fmt.Errorf("reading the URL of the API server: %w", err))
			continue
		}
		port, err := net.DefaultResolver.LookupPort(ctx, "tcp", cmp.Or(server.Port(), server.Scheme))
		if err != nil {
			problems = append(problems, fmt.Errorf("reading the port of the API server %s: %w", server.Host, err))
			continue
		}
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", server.Hostname())
		if err != nil {
			problems = append(problems, fmt.Errorf("looking up the API server %s: %w", server.Host, err))
		}
		for _, address := range addresses {
			servers = append(servers, netip.AddrPortFrom(plain(address), uint16(port))) //nolint:gosec // a port
		}
	}
	return servers, errors.Join(problems...)
}

// Check returns an error if the operator must not connect to an address.
func (g Guard) Check(to netip.AddrPort) error {
	address := plain(to.Addr())
	what := ""
	switch {
	case slices.Contains(g.APIServers, netip.AddrPortFrom(address, to.Port())):
		return &refusal{what: "an address of the API server", always: true}
	case slices.ContainsFunc(g.Allow, func(allowed netip.Prefix) bool { return allowed.Contains(address) }):
		return nil
	case address.IsLoopback():
		what = "a loopback address"
	case address.IsLinkLocalUnicast():
		what = "a link-local address"
	case address.IsMulticast():
		what = "a multicast address"
	case !address.IsValid(), address.IsUnspecified(), address.Is4() && (address.As4()[0] == 0 || address.As4()[0] == 255):
		what = "no address of a host"
	case slices.Contains(metadata(), address):
		what = "the address of a metadata service"
	default:
		return nil
	}
	return &refusal{what: what}
}

// plain returns an address without a zone, as an IPv4 address where it has one: by mapping, or as NAT64 translates it.
func plain(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if !netip.MustParsePrefix("64:ff9b::/96").Contains(address) {
		return address
	}
	bytes := address.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}

// control is a net.Dialer.Control. It sees the address that is connected to: a check of the name before could see another one.
func (g Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address %s: %w", address, err)
	}
	return g.Check(to)
}

// Set adds CIDRs separated by commas, as a flag.
func (g *Guard) Set(value string) error {
	var problems []error
	for cidr := range strings.SplitSeq(value, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(cidr))
		if err != nil {
			problems = append(problems, fmt.Errorf("%q is no CIDR such as 10.0.0.0/8", cidr))
			continue
		}
		g.Allow = append(g.Allow, prefix.Masked())
	}
	return errors.Join(problems...)
}

// String returns the CIDRs as Set takes them.
func (g *Guard) String() string {
	if g == nil {
		return ""
	}
	cidrs := make([]string, len(g.Allow))
	for i, prefix := range g.Allow {
		cidrs[i] = prefix.String()
	}
	return strings.Join(cidrs, ",")
}
