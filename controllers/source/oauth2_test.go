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
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// issuer is a token endpoint, and a source that takes its tokens.
type issuer struct {
	// fault answers in place of the token endpoint.
	fault http.HandlerFunc

	mutex sync.Mutex
	// tokens counts those that it gave. Those up to revoked are refused.
	tokens, revoked int
	// clients are the credentials and the parameters by which tokens were asked for, sent the tokens by which the source was.
	clients, sent []string
}

func (i *issuer) token(writer http.ResponseWriter, request *http.Request) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	id, secret, _ := request.BasicAuth()
	_ = request.ParseForm()
	i.clients = append(i.clients, id+":"+secret+" "+request.PostForm.Encode())
	if i.fault != nil {
		i.fault(writer, request)
		return
	}
	i.tokens++
	writer.Header().Set("Content-Type", "application/json")
	says(200, fmt.Sprintf(`{"access_token":"token-%d","token_type":"bearer","expires_in":300}`, i.tokens))(writer, request)
}

func (i *issuer) source(writer http.ResponseWriter, request *http.Request) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	body, _ := io.ReadAll(request.Body)
	i.sent = append(i.sent, strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")+fmt.Sprintf(" %t", len(body) > 0))
	var number int
	if _, err := fmt.Sscanf(request.Header.Get("Authorization"), "Bearer token-%d", &number); err != nil || number <= i.revoked {
		says(401, "")(writer, request)
		return
	}
	says(200, one)(writer, request)
}

// issued returns a source with tokens of an issuer, and the Secret with the credentials.
func issued(t *testing.T, by *issuer, edits ...func(*appv1alpha1.VerificationSourceSpec)) (*appv1alpha1.VerificationSource, *httptest.Server, *corev1.Secret) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(by.token))
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	object := define(serve(t, by.source), func(s *appv1alpha1.VerificationSourceSpec) {
		s.Auth = appv1alpha1.SourceAuth{Type: "OAuth2", SecretRef: &appv1alpha1.SourceSecret{Name: "client"}, OAuth2: &appv1alpha1.SourceOAuth2{
			TokenURL: server.URL + "/token", Scopes: []string{"metrics", "read"}, Audience: "mimir", TLS: &appv1alpha1.SourceTLS{CABundle: authority},
		}}
		for _, edit := range edits {
			edit(s)
		}
	})
	credentials, _ := secret("client", map[string]string{"clientId": "operator", "clientSecret": "s3cr:t\n"}).(*corev1.Secret)
	return object, server, credentials
}

func TestOAuth2KeepsATokenUntilItEnds(t *testing.T) {
	g := NewWithT(t)
	by := &issuer{}
	object, _, credentials := issued(t, by)
	sources, clock := newSources(t, credentials), testclock.NewFakePassiveClock(time.Now())
	sources.Clock = clock
	asks, began := reader(t, sources, object), clock.Now()
	ask := func(after time.Duration) {
		clock.SetTime(began.Add(after))
		_, err := asks.Instant(t.Context(), "up", clock.Now())
		g.Expect(err).NotTo(HaveOccurred())
	}
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			_, err := asks.Instant(t.Context(), "up", began.Add(time.Duration(i)*time.Second))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
	group.Wait()
	ask(280 * time.Second)
	g.Expect(by.clients).To(Equal([]string{"operator:s3cr%3At audience=mimir&grant_type=client_credentials&scope=metrics+read"}), "the credentials are encoded as RFC 6749 wants it")
	g.Expect(by.sent).To(HaveLen(6), "the look, and five queries")
	g.Expect(by.sent).To(HaveEach("token-1 true"))
	ask(295 * time.Second)
	g.Expect(by.sent[6:]).To(Equal([]string{"token-2 true"}), "before the first one ends")
}

func TestOAuth2ReplacesARefusedTokenOnce(t *testing.T) {
	g := NewWithT(t)
	by := &issuer{}
	object, _, credentials := issued(t, by)
	sources := newSources(t, credentials)
	asks, now := reader(t, sources, object), time.Now()
	by.revoked = 1
	_, err := asks.Instant(t.Context(), "up", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(by.sent).To(Equal([]string{"token-1 true", "token-1 true", "token-2 true"}), "the query is sent again with its body")
	by.revoked, by.sent = 1000, nil
	_, err = asks.Instant(t.Context(), "down", now)
	g.Expect(err).To(MatchError("VerificationSource prometheus: the source doesn't accept the credentials (HTTP 401): see spec.auth"))
	g.Expect(by.sent).To(Equal([]string{"token-2 true", "token-3 true"}))
}

func TestOAuth2AsksForPlugins(t *testing.T) {
	g := NewWithT(t)
	by := &issuer{}
	object, _, credentials := issued(t, by, ofPlugin)
	_, err := pluginOf(t, newSources(t, credentials), object).Ask(t.Context(), "1", []byte("{}"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(by.sent).To(Equal([]string{"token-1 false", "token-1 true"}), "HEAD, and POST")
}

// Some servers, such as that of Google, take the credentials as parameters only.
func TestOAuth2SendsTheCredentialsAsParametersWhereTheyAreWanted(t *testing.T) {
	g := NewWithT(t)
	by := &issuer{}
	by.fault = func(writer http.ResponseWriter, request *http.Request) {
		if request.PostForm.Get("client_secret") != "s3cr:t" {
			says(400, `{"error":"invalid_request"}`)(writer, request)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		says(200, `{"access_token":"token-1"}`)(writer, request)
	}
	object, _, credentials := issued(t, by)
	g.Expect(look(t, newSources(t, credentials), object)).To(Succeed())
	g.Expect(by.clients).To(HaveLen(2))
	g.Expect(by.sent).To(Equal([]string{"token-1 true"}))
}

func TestOAuth2FollowsItsSecret(t *testing.T) {
	g := NewWithT(t)
	by := &issuer{}
	object, _, credentials := issued(t, by)
	sources := newSources(t, credentials)
	g.Expect(look(t, sources, object)).To(Succeed())
	kube, ok := sources.Secrets.(client.Client)
	g.Expect(ok).To(BeTrue())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(credentials), credentials)).To(Succeed())
	credentials.Data["clientSecret"] = []byte("new")
	g.Expect(kube.Update(t.Context(), credentials)).To(Succeed())
	g.Expect(look(t, sources, object)).To(Succeed())
	g.Expect(by.clients).To(HaveExactElements(HavePrefix("operator:s3cr%3At "), HavePrefix("operator:new ")))
	g.Expect(by.sent).To(Equal([]string{"token-1 true", "token-2 true"}))
}

func TestOAuth2HasFaults(t *testing.T) {
	const place = "spec.auth.oauth2.tokenURL"
	typed := func(status int, body string) http.HandlerFunc {
		return func(writer http.ResponseWriter, request *http.Request) {
			writer.Header().Set("Content-Type", "application/json")
			says(status, body)(writer, request)
		}
	}
	for name, row := range map[string]struct {
		fault    http.HandlerFunc
		expected string
	}{
		"an unknown client":    {typed(401, `{"error":"invalid_client","error_description":"not s3cr:t"}`), "Unauthorized " + place + " gives no token (HTTP 401, invalid_client): see spec.auth"},
		"a scope too many":     {typed(400, `{"error":"invalid_scope"}`), "Unauthorized " + place + " gives no token (HTTP 400, invalid_scope): see spec.auth"},
		"a code of its own":    {typed(403, `{"error":"s3cr:t"}`), "Unauthorized " + place + " gives no token (HTTP 403): see spec.auth"},
		"an error with 200":    {typed(200, `{"error":"invalid_client"}`), "Unauthorized " + place + " gives no token (HTTP 200, invalid_client): see spec.auth"},
		"a failure":            {typed(500, `{"error":"server_error","error_description":"s3cr:t"}`), "SourceUnavailable " + place + " failed (HTTP 500)"},
		"a page of a gateway":  {says(503, "<html>s3cr:t"), "SourceUnavailable " + place + " failed (HTTP 503)"},
		"another path":         {says(404, "s3cr:t"), "SourceUnavailable " + place + " failed (HTTP 404)"},
		"too many requests":    {says(429, "s3cr:t"), "SourceThrottled " + place + " refuses further requests for now (HTTP 429)"},
		"a redirect":           {http.RedirectHandler("http://169.254.169.254/", http.StatusFound).ServeHTTP, "SourceUnavailable " + place + " redirects (HTTP 302), which the operator doesn't follow: correct it"},
		"a page":               {says(200, "<html>s3cr:t"), "SourceUnavailable " + place + " answers without an access token of the type Bearer"},
		"no token":             {typed(200, `{"token_type":"bearer","id_token":"s3cr:t"}`), "SourceUnavailable " + place + " answers without an access token of the type Bearer"},
		"another type":         {typed(200, `{"access_token":"s3cr:t","token_type":"mac"}`), "SourceUnavailable " + place + " answers without an access token of the type Bearer"},
		"a token of two lines": {typed(200, `{"access_token":"s3cr:t\n"}`), `SourceUnavailable net/http: invalid header field value for "Authorization"`},
		"nobody":               {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "SourceUnavailable " + place + ": EOF"},
		"a slow one":           {func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }, "SourceUnavailable " + place + ": no answer within limits.timeoutSeconds, 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			by := &issuer{fault: row.fault}
			object, _, credentials := issued(t, by, func(s *appv1alpha1.VerificationSourceSpec) { s.Limits.TimeoutSeconds = 1 })
			failure := look(t, newSources(t, credentials), object)
			g.Expect(string(failure.Kind) + " " + failure.Message).To(Equal(row.expected))
			g.Expect(by.sent).To(BeEmpty(), "without a token the source isn't asked")
			g.Expect(fmt.Sprintf("%+v %v", *failure, failure.Unwrap())).NotTo(ContainSubstring("s3cr"), "in a log")
		})
	}
}

func TestOAuth2ReachesTheTokenEndpointAsASource(t *testing.T) {
	const place = "spec.auth.oauth2.tokenURL"
	for name, row := range map[string]struct {
		edit     func(*appv1alpha1.VerificationSourceSpec, *Guard, netip.AddrPort)
		expected string
	}{
		"not at a refused address": {
			func(_ *appv1alpha1.VerificationSourceSpec, guard *Guard, at netip.AddrPort) {
				guard.APIServers = []netip.AddrPort{at}
			},
			"AddressRefused the host of " + place + " has an address of the API server, to which the operator doesn't connect",
		},
		"not by an unknown authority": {
			func(s *appv1alpha1.VerificationSourceSpec, _ *Guard, _ netip.AddrPort) { s.Auth.OAuth2.TLS = nil },
			"SourceUnavailable " + place + ": tls: failed to verify certificate: x509: certificate signed by unknown authority",
		},
		"not by the name of the source": {
			func(s *appv1alpha1.VerificationSourceSpec, _ *Guard, _ netip.AddrPort) {
				s.Auth.OAuth2.TLS.ServerName = "example.org"
			},
			"SourceUnavailable " + place + ": tls: failed to verify certificate: x509: certificate is valid for example.com, ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object, server, credentials := issued(t, &issuer{})
			sources := newSources(t, credentials)
			row.edit(&object.Spec, &sources.Guard, netip.MustParseAddrPort(server.Listener.Addr().String()))
			failure := look(t, sources, object)
			g.Expect(string(failure.Kind) + " " + failure.Message).To(HavePrefix(row.expected))
		})
	}
}

func TestTokensWaitInTheirTime(t *testing.T) {
	g := NewWithT(t)
	object, _, credentials := issued(t, &issuer{}, func(s *appv1alpha1.VerificationSourceSpec) { s.Limits.TimeoutSeconds = 1 })
	sources := newSources(t, credentials)
	g.Expect(look(t, sources, object)).To(Succeed())
	g.Expect(sources.find("prometheus").exchange.bearer.turn.TryAcquire(1)).To(BeTrue(), "another query waits for a token")
	asks, err := sources.Reader(t.Context(), "prometheus", "shop")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = asks.Instant(t.Context(), "up", time.Now())
	g.Expect(err).To(MatchError("VerificationSource prometheus: spec.auth.oauth2.tokenURL: no answer within limits.timeoutSeconds, 1s"))
}
