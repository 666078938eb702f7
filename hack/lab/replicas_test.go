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

package lab

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

// answering starts a server that answers with its name, and returns its port.
func answering(t *testing.T, name string) (port int, stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	t.Cleanup(server.Close)
	address, _ := server.Listener.Addr().(*net.TCPAddr)
	return address.Port, server.Close
}

func TestFrontPassesConnectionsToWhatAnswers(t *testing.T) {
	g := NewWithT(t)
	f, err := listen(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	first, stopFirst := answering(t, "first")
	second, stopSecond := answering(t, "second")
	f.targets = []int{first, second}
	go f.serve(t.Context())
	ask := func() string {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get("http://" + f.listener.Addr().String())
		if err != nil {
			return "nobody"
		}
		defer response.Body.Close()
		name, _ := io.ReadAll(response.Body)
		return string(name)
	}
	g.Expect([]string{ask(), ask()}).To(ConsistOf("first", "second"))
	stopFirst()
	g.Expect([]string{ask(), ask()}).To(Equal([]string{"second", "second"}))
	stopSecond()
	g.Expect(ask()).To(Equal("nobody"))
}
