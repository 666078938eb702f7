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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestAlign(t *testing.T) {
	for name, row := range map[string]struct {
		start, end string
		step       time.Duration
		offset     time.Duration
		expected   string
	}{
		"both ends":              {"2026-01-01T00:00:07Z", "2026-01-01T00:05:29Z", 15 * time.Second, 0, "00:00:00 00:05:15 15s"},
		"what is aligned":        {"2026-01-01T00:00:15Z", "2026-01-01T00:00:30Z", 15 * time.Second, 0, "00:00:15 00:00:30 15s"},
		"less than a step":       {"2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", 15 * time.Second, 0, "00:00:00 00:00:00 15s"},
		"sixty steps":            {"2026-01-01T00:00:00Z", "2026-01-01T00:15:00Z", 15 * time.Second, 0, "00:00:00 00:15:00 15s"},
		"more than sixty":        {"2026-01-01T00:00:00Z", "2026-01-01T00:15:15Z", 15 * time.Second, 0, "00:00:00 00:15:00 30s"},
		"a window of a day":      {"2026-01-01T00:00:00Z", "2026-01-01T23:59:59Z", 15 * time.Second, 0, "00:00:00 23:36:00 24m0s"},
		"sixty-one by the start": {"2026-01-01T00:00:14Z", "2026-01-01T00:15:16Z", 15 * time.Second, 0, "00:00:00 00:15:00 30s"},
		"parts of a second":      {"2026-01-01T00:00:07.9Z", "2026-01-01T00:00:09.9Z", 100 * time.Millisecond, 0, "00:00:07 00:00:09 1s"},
		"with an offset":         {"2026-01-01T00:00:07Z", "2026-01-01T00:05:29Z", 15 * time.Second, 4 * time.Second, "00:00:04 00:05:19 15s"},
		"before the offset":      {"2026-01-01T00:00:03Z", "2026-01-01T00:00:19Z", 15 * time.Second, 4 * time.Second, "23:59:49 00:00:19 15s"},
		"more with an offset":    {"2026-01-01T00:00:04Z", "2026-01-01T00:15:19Z", 15 * time.Second, 4 * time.Second, "00:00:04 00:15:04 30s"},
		"an end before a start":  {"2026-01-01T00:10:00Z", "2026-01-01T00:00:20Z", 15 * time.Second, 0, "00:00:15 00:00:15 15s"},
	} {
		t.Run(name, func(t *testing.T) {
			window := Align(at(row.start), at(row.end), row.step, row.offset)
			NewWithT(t).Expect(fmt.Sprintf("%s %s %s", window.Start.Format(time.TimeOnly), window.End.Format(time.TimeOnly), window.Step)).To(Equal(row.expected))
		})
	}
}

func TestWindows(t *testing.T) {
	for name, row := range map[string]struct {
		start, recent, end string
		offset             time.Duration
		expected           []string
	}{
		"sixty steps":                    {"2026-01-01T00:00:00Z", "2026-01-01T00:14:00Z", "2026-01-01T00:15:00Z", 0, []string{"01 00:00:00 01 00:15:00 15s false"}},
		"nothing recent":                 {"2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-01-02T00:00:00Z", 0, []string{"01 00:00:00 02 00:00:00 24m0s false"}},
		"all of it recent":               {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", 0, []string{"01 00:00:00 01 01:00:00 1m0s false"}},
		"more than half of it recent":    {"2026-01-01T00:00:00Z", "2026-01-01T00:25:00Z", "2026-01-01T01:00:00Z", 0, []string{"01 00:00:00 01 01:00:00 1m0s false"}},
		"less than half of it recent":    {"2026-01-01T00:00:00Z", "2026-01-01T00:30:00Z", "2026-01-01T01:00:00Z", 0, []string{"01 00:00:00 01 00:29:30 30s true", "01 00:30:00 01 01:00:00 30s false"}},
		"a quarter of an hour of a day":  {"2026-01-01T00:00:00Z", "2026-01-01T23:45:00Z", "2026-01-02T00:00:00Z", 0, []string{"31 23:38:45 01 23:23:45 23m45s true", "01 23:45:00 02 00:00:00 15s false"}},
		"a little later":                 {"2026-01-01T00:00:00Z", "2026-01-01T23:45:15Z", "2026-01-02T00:00:15Z", 0, []string{"01 00:00:00 01 23:36:00 24m0s true", "01 23:45:15 02 00:00:15 15s false"}},
		"with an offset":                 {"2026-01-01T00:00:00Z", "2026-01-01T23:45:00Z", "2026-01-02T00:00:00Z", 4 * time.Second, []string{"31 23:38:49 01 23:23:49 23m45s true", "01 23:44:49 01 23:59:49 15s false"}},
		"what was before in parts of it": {"2026-01-01T00:00:07Z", "2026-01-01T00:00:14Z", "2026-01-01T01:00:00Z", 0, []string{"01 00:00:00 01 01:00:00 1m0s false"}},
	} {
		t.Run(name, func(t *testing.T) {
			var windows []string
			for _, window := range Windows(at(row.start), at(row.recent), at(row.end), 15*time.Second, row.offset) {
				const layout = "02 15:04:05"
				windows = append(windows, fmt.Sprintf("%s %s %s %t", window.Start.Format(layout), window.End.Format(layout), window.Step, window.Fixed))
			}
			NewWithT(t).Expect(windows).To(Equal(row.expected))
		})
	}
}

func TestGuardCheck(t *testing.T) {
	const see = ", to which the operator doesn't connect: see --source-allow-cidr"
	for address, expected := range map[string]string{
		"10.0.0.1":               "",
		"8.8.8.8":                "",
		"fd00::1":                "",
		"127.0.0.1":              "a loopback address",
		"127.1.2.3":              "a loopback address",
		"::1":                    "a loopback address",
		"::ffff:127.0.0.1":       "a loopback address",
		"64:ff9b::7f00:1":        "a loopback address",
		"169.254.169.254":        "a link-local address",
		"fe80::1%eth0":           "a link-local address",
		"64:ff9b::a9fe:a9fe":     "a link-local address",
		"::ffff:169.254.169.254": "a link-local address",
		"224.0.0.1":              "a multicast address",
		"ff02::1":                "a multicast address",
		"0.0.0.0":                "no address of a host",
		"0.1.2.3":                "no address of a host",
		"::":                     "no address of a host",
		"255.255.255.255":        "no address of a host",
		"100.100.100.200":        "the address of a metadata service",
		"168.63.129.16":          "the address of a metadata service",
		"fd00:ec2::254":          "the address of a metadata service",
	} {
		t.Run(address, func(t *testing.T) {
			err := Guard{}.Check(netip.AddrPortFrom(netip.MustParseAddr(address), 9090))
			if expected == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError("the host of spec.url has " + expected + see))
		})
	}
	NewWithT(t).Expect(Guard{}.Check(netip.AddrPort{})).NotTo(Succeed())
	NewWithT(t).Expect(Guard{}.control("tcp", "nowhere", nil)).To(MatchError(HavePrefix("reading the address nowhere: ")))
}

// A Prometheus may have the address of the API server, with another port.
func TestGuardCheckRefusesTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	servers, err := APIServers(t.Context(), "https://10.96.0.1:443", "127.0.0.1:6443", "https://[fd00::1]", "http://192.0.2.1/cluster", "https://[::ffff:192.0.2.2]:6443")
	g.Expect(err).NotTo(HaveOccurred())
	guard := Guard{APIServers: servers}
	g.Expect(guard.Set("127.0.0.0/8,10.0.0.0/8")).To(Succeed())
	for address, refused := range map[string]bool{
		"10.96.0.1:443": true, "10.96.0.1:9090": false, "10.96.0.2:443": false, "[::ffff:10.96.0.1]:443": true, "[64:ff9b::a60:1]:443": true,
		"127.0.0.1:6443": true, "127.0.0.1:9090": false, "[fd00::1]:443": true, "[fd00::1]:80": false, "192.0.2.1:80": true, "192.0.2.1:443": false,
		"192.0.2.2:6443": true,
	} {
		err := guard.Check(netip.MustParseAddrPort(address))
		g.Expect(err != nil).To(Equal(refused), address)
		if refused {
			g.Expect(err).To(MatchError("the host of spec.url has an address of the API server, to which the operator doesn't connect"))
		}
	}
}

func TestAPIServersLooksUpNames(t *testing.T) {
	g := NewWithT(t)
	g.Expect(APIServers(t.Context(), "https://localhost:6443")).To(ContainElement(netip.MustParseAddrPort("127.0.0.1:6443")))
	servers, err := APIServers(t.Context(), "https://a.invalid", "https://10.96.0.1", "https://10.96.0.1:x")
	g.Expect(servers).To(Equal([]netip.AddrPort{netip.MustParseAddrPort("10.96.0.1:443")}), "the others count all the same")
	g.Expect(err).To(MatchError(ContainSubstring("looking up the API server a.invalid: ")))
	g.Expect(err).To(MatchError(ContainSubstring("reading the URL of the API server: ")))
}

func TestGuardSetAllowsCIDRs(t *testing.T) {
	g := NewWithT(t)
	var guard Guard
	g.Expect(guard.Set("127.0.0.0/8, 100.100.100.200/32,fe80::1/10")).To(Succeed())
	g.Expect(guard.String()).To(Equal("127.0.0.0/8,100.100.100.200/32,fe80::/10"))
	for address, expected := range map[string]bool{
		"127.0.0.1": true, "::ffff:127.0.0.1": true, "fe80::1%eth0": true, "100.100.100.200": true, "169.254.169.254": false, "::1": false,
	} {
		g.Expect(guard.Check(netip.AddrPortFrom(netip.MustParseAddr(address), 9090)) == nil).To(Equal(expected), address)
	}
	g.Expect(guard.Set("10.0.0.1,a/8")).To(MatchError("\"10.0.0.1\" is no CIDR such as 10.0.0.0/8\n\"a/8\" is no CIDR such as 10.0.0.0/8"))
	g.Expect((*Guard)(nil).String()).To(BeEmpty(), "package flag asks the zero value")
}

func TestOfResponse(t *testing.T) {
	now := at("2026-01-01T00:00:00Z")
	for name, row := range map[string]struct {
		status   int
		retry    string
		body     string
		expected string
	}{
		"an answer":            {200, "", one, ""},
		"no credentials":       {401, "", "secret", "Unauthorized 0s the source doesn't accept the credentials (HTTP 401): see spec.auth"},
		"no permission":        {403, "", "secret", "Unauthorized 0s the source doesn't accept the credentials (HTTP 403): see spec.auth"},
		"too many":             {429, "7", "", "SourceThrottled 7s the source refuses further queries for now (HTTP 429)"},
		"too many, no header":  {429, "", "", "SourceThrottled 15s the source refuses further queries for now (HTTP 429)"},
		"too many, a date":     {429, "Thu, 01 Jan 2026 00:00:42 GMT", "", "SourceThrottled 42s the source refuses further queries for now (HTTP 429)"},
		"too many, a past one": {429, "Wed, 31 Dec 2025 00:00:42 GMT", "", "SourceThrottled 1s the source refuses further queries for now (HTTP 429)"},
		"too many for a year":  {429, "31536000", "", "SourceThrottled 5m0s the source refuses further queries for now (HTTP 429)"},
		"too many for ever":    {429, "9223372036854775807", "", "SourceThrottled 5m0s the source refuses further queries for now (HTTP 429)"},
		"a bad query":          {400, "", `{"status":"error","errorType":"bad_data","error":"1:1: parse\nerror"}`, "BadQuery 0s the source refuses the query (HTTP 400): 1:1: parse error"},
		"a store that is away": {422, "", `{"status":"error","errorType":"execution","error":"expanding series: store-a: unavailable"}`, "QueryFailed 0s the source couldn't make the query (HTTP 422): expanding series: store-a: unavailable"},
		"another 400":          {400, "", "<html>secret</html>", "BadQuery 0s the source refuses the query (HTTP 400)"},
		"a failure":            {500, "", `{"status":"error","error":"boom"}`, "SourceUnavailable 0s the source failed (HTTP 500): boom"},
		"a proxy":              {503, "", "<html>secret</html>", "SourceUnavailable 0s the source failed (HTTP 503)"},
		"another path":         {404, "", "secret", "SourceUnavailable 0s the source failed (HTTP 404)"},
		"another API":          {500, "", `{"error":"secret"}`, "SourceUnavailable 0s the source failed (HTTP 500)"},
		"a redirect":           {302, "", "secret", "SourceUnavailable 0s the source redirects (HTTP 302), which the operator doesn't follow: correct spec.url"},
		"a long message":       {500, "", `{"status":"error","error":"` + strings.Repeat("é", 300) + `"}`, "SourceUnavailable 0s the source failed (HTTP 500): " + strings.Repeat("é", 253) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			failure := ofResponse(row.status, http.Header{"Retry-After": {row.retry}}, []byte(row.body), now)
			if row.expected == "" {
				NewWithT(t).Expect(failure).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(fmt.Sprintf("%s %s %s", failure.Kind, failure.RetryAfter, failure.Message)).To(Equal(row.expected))
		})
	}
}

func TestOfFault(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://a", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	for name, row := range map[string]struct {
		fault    error
		expected string
	}{
		"refused by the guard": {dial(&refusal{what: "a loopback address"}), "AddressRefused the host of spec.url has a loopback address, to which the operator doesn't connect: see --source-allow-cidr"},
		"no connection":        {dial(errors.New("connection refused")), "SourceUnavailable dial: connection refused"},
		"no name":              {dial(&net.DNSError{Err: "no such host", Name: "a", Server: "10.0.0.10:53"}), "SourceUnavailable the host a can't be resolved"},
		"no time":              {&url.Error{Op: "Post", URL: "http://a", Err: &net.DNSError{IsTimeout: true}}, "SourceUnavailable no answer within limits.timeoutSeconds, 5s"},
		"no trust":             {&url.Error{Op: "Post", URL: "http://a", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, "SourceUnavailable tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		"no end":               {errTooLarge, "TooLarge the answer has more than limits.maxBytes, 1024 bytes"},
		"no more":              {errors.New("unexpected EOF"), "SourceUnavailable unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := ofFault(row.fault, 5*time.Second, 1024)
			NewWithT(t).Expect(fmt.Sprintf("%s %s", failure.Kind, failure.Message)).To(Equal(row.expected))
			NewWithT(t).Expect(errors.Is(failure, row.fault)).To(BeTrue())
		})
	}
	NewWithT(t).Expect((&Error{Source: "a", Message: "b"}).Error()).To(Equal("VerificationSource a: b"))
}

func TestAnswerOfHasNumbers(t *testing.T) {
	_, err := answerOf(&model.String{Value: "a"}, nil, instant(time.Now()), 1)
	NewWithT(t).Expect(err).To(MatchError(HaveSuffix("the query returns a string, not numbers")))
	NewWithT(t).Expect(kindOf(err)).To(BeEquivalentTo("BadQuery"))
}

func TestConnect(t *testing.T) {
	type spec = appv1alpha1.VerificationSourceSpec
	ref := &appv1alpha1.SourceSecret{Name: "credentials"}
	auth := func(of string) func(*spec) {
		return func(s *spec) {
			s.Auth = appv1alpha1.SourceAuth{Type: appv1alpha1.SourceAuthType(of), SecretRef: ref}
		}
	}
	authority := func(tls appv1alpha1.SourceTLS) func(*spec) { return func(s *spec) { s.TLS = &tls } }
	tokens := func(tls *appv1alpha1.SourceTLS) func(*spec) {
		return func(s *spec) {
			auth("OAuth2")(s)
			s.Auth.OAuth2 = &appv1alpha1.SourceOAuth2{TokenURL: "https://b", TLS: tls}
		}
	}
	chain, key := keyPair(t)
	_, other := keyPair(t)
	for name, row := range map[string]struct {
		edit     func(*spec)
		data     map[string]string
		expected string
	}{
		"nothing":                      {func(*spec) {}, nil, "map[User-Agent:[altershield-operator]]"},
		"headers":                      {func(s *spec) { s.Headers = []appv1alpha1.SourceHeader{{Name: "x-scope-orgid", Value: "a"}} }, nil, "map[User-Agent:[altershield-operator] X-Scope-Orgid:[a]]"},
		"a token":                      {auth("BearerToken"), map[string]string{"token": "abc\n"}, "map[Authorization:[Bearer abc] User-Agent:[altershield-operator]]"},
		"a password":                   {auth("Basic"), map[string]string{"username": "a", "password": "b:c"}, "map[Authorization:[Basic YTpiOmM=] User-Agent:[altershield-operator]]"},
		"no Secret":                    {auth("Basic"), nil, "BadSecret spec.auth.secretRef: there is no Secret credentials in the namespace of the operator"},
		"no token":                     {auth("BearerToken"), map[string]string{"password": "b"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key token"},
		"two lines":                    {auth("BearerToken"), map[string]string{"token": "a\nHost: b"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key token, in one line"},
		"no user":                      {auth("Basic"), map[string]string{"password": "b"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key username"},
		"no password":                  {auth("Basic"), map[string]string{"username": "a"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key password"},
		"an access key":                {auth("AccessKey"), map[string]string{"accessId": "a", "accessKey": "b"}, "map[User-Agent:[altershield-operator]]"},
		"no access ID":                 {auth("AccessKey"), map[string]string{"accessKey": "b"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key accessId"},
		"no access key":                {auth("AccessKey"), map[string]string{"accessId": "a"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key accessKey"},
		"client credentials":           {tokens(nil), map[string]string{"clientId": "a", "clientSecret": "b"}, "map[User-Agent:[altershield-operator]]"},
		"no client ID":                 {tokens(nil), map[string]string{"clientSecret": "b"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key clientId"},
		"no client secret":             {tokens(nil), map[string]string{"clientId": "a"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key clientSecret"},
		"a client secret of two lines": {tokens(nil), map[string]string{"clientId": "a", "clientSecret": "b\nc"}, "BadSecret spec.auth.secretRef: Secret credentials needs the key clientSecret, in one line"},
		"no PEM for tokens":            {tokens(&appv1alpha1.SourceTLS{CABundle: "a"}), map[string]string{"clientId": "a", "clientSecret": "b"}, "Invalid spec.auth.oauth2.tls.caBundle: there is no certificate in PEM"},
		"no certificate for tokens": {
			tokens(&appv1alpha1.SourceTLS{ClientCertSecretRef: &appv1alpha1.SourceSecret{Name: "gone"}}), map[string]string{"clientId": "a", "clientSecret": "b"},
			"BadSecret spec.auth.oauth2.tls.clientCertSecretRef: there is no Secret gone in the namespace of the operator",
		},
		"a certificate":    {authority(appv1alpha1.SourceTLS{ClientCertSecretRef: ref}), map[string]string{"tls.crt": chain, "tls.key": key}, "map[User-Agent:[altershield-operator]]"},
		"no certificate":   {authority(appv1alpha1.SourceTLS{ClientCertSecretRef: ref}), map[string]string{"tls.key": key}, "BadSecret spec.tls.clientCertSecretRef: Secret credentials needs the key tls.crt"},
		"no key":           {authority(appv1alpha1.SourceTLS{ClientCertSecretRef: ref}), map[string]string{"tls.crt": chain}, "BadSecret spec.tls.clientCertSecretRef: Secret credentials needs the key tls.key"},
		"another key":      {authority(appv1alpha1.SourceTLS{ClientCertSecretRef: ref}), map[string]string{"tls.crt": chain, "tls.key": other}, "BadSecret spec.tls.clientCertSecretRef: Secret credentials: tls: private key does not match public key"},
		"a server name":    {authority(appv1alpha1.SourceTLS{ServerName: "a"}), nil, "map[User-Agent:[altershield-operator]]"},
		"no PEM":           {authority(appv1alpha1.SourceTLS{CABundle: "a"}), nil, "Invalid spec.tls.caBundle: there is no certificate in PEM"},
		"no PEM in Secret": {authority(appv1alpha1.SourceTLS{CASecretRef: ref}), map[string]string{"ca.crt": "a"}, "BadSecret spec.tls.caSecretRef: there is no certificate in PEM"},
		"no authority":     {authority(appv1alpha1.SourceTLS{CASecretRef: ref}), map[string]string{"a": "b"}, "BadSecret spec.tls.caSecretRef: Secret credentials needs the key ca.crt"},
		"no host":          {func(s *spec) { s.URL = "a" }, nil, "Invalid spec.url is no URL with a host"},
		"no usable selector": {func(s *spec) {
			s.AllowedNamespaces = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}}
		}, nil, "Invalid spec.allowedNamespaces: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			found := secrets{}
			if row.data != nil {
				found["credentials"] = map[string][]byte{}
				for key, value := range row.data {
					found["credentials"][key] = []byte(value)
				}
			}
			to, failure := connect(&define("https://a", row.edit).Spec, found)
			if failure != nil {
				NewWithT(t).Expect(fmt.Sprintf("%s %s", failure.Kind, failure.Message)).To(Equal(row.expected))
				return
			}
			NewWithT(t).Expect(fmt.Sprint(map[string][]string(to.header))).To(Equal(row.expected))
		})
	}
}

func TestNoAnswer(t *testing.T) {
	const without = "VerificationSource prometheus: no answer within 1m0s"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "token", errors.New("no"))
	for expected, last := range map[string]error{
		without: nil,
		without + `: reading Secret system/token: secrets "token" is forbidden: no`: fmt.Errorf("reading Secret system/token: %w", forbidden),
		without + ": dial: connection refused": &url.Error{
			Op: "Get", URL: "https://10.0.0.1:443/api", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")},
		},
		without + ": the API server answered too late":          &net.DNSError{IsTimeout: true},
		without + ": first " + strings.Repeat("x", 247) + "...": errors.New("first\n" + strings.Repeat("x", 300)),
	} {
		NewWithT(t).Expect(NoAnswer("VerificationSource prometheus", time.Minute, last)).To(Equal(expected))
	}
}
