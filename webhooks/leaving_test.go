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

package webhooks

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLastAnswersCloseTheirConnections(t *testing.T) {
	g := NewWithT(t)
	leaving := make(chan struct{})
	server := httptest.NewServer(closeOnShutdown{leaving, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "allowed")
	})})
	defer server.Close()
	closes := func() bool {
		response, err := server.Client().Get(server.URL)
		g.Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		g.Expect(io.ReadAll(response.Body)).To(BeEquivalentTo("allowed"))
		return response.Close
	}
	g.Expect(closes()).To(BeFalse())
	close(leaving)
	g.Expect(closes()).To(BeTrue())
}
