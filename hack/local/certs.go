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

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	certutil "k8s.io/client-go/util/cert"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

const certsHelp = `%[1]s has a serving certificate (tls.crt, tls.key) and its authority (ca.crt), for %[2]s.

Run the manager with it:
  go run . --kubeconfig=<file> --webhook-cert-dir=%[1]s
To make the API server call it, in the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration replace
clientConfig.service by clientConfig.url, https://<one of these names>:1443 and the path of the service, and set
clientConfig.caBundle to
  base64 <%[1]s/ca.crt | tr -d '\n'
`

// certs creates a serving certificate, unless there is one for all the hosts, and explains its use.
func certs(dir, hosts string, out io.Writer) error {
	names := append([]string{"localhost", "127.0.0.1"}, strings.FieldsFunc(hosts, func(r rune) bool { return r == ',' || r == ' ' })...)
	if _, err := cluster.NewServingCert(dir, names[2:]...); err != nil {
		return err
	}
	if err := checkServingCert(filepath.Join(dir, "tls.crt"), names); err != nil {
		return fmt.Errorf("%w; remove the folder %s to create a new one", err, dir)
	}
	fmt.Fprintf(out, certsHelp, dir, strings.Join(names, ", "))
	return nil
}

// checkServingCert returns an error unless a certificate is valid for some names.
func checkServingCert(path string, names []string) error {
	found, err := certutil.CertsFromFile(path)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	for _, name := range names {
		if err := found[0].VerifyHostname(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
