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

package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

// tokenSeconds is the lifetime of a service account token: a manager in the background has no kubelet to renew it.
const tokenSeconds = int64(365 * 24 * time.Hour / time.Second)

// Config returns the configuration of a client with all permissions, without a rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.path("kubeconfig") }

// NodeKubeconfig returns the path of the kubeconfig of a real node's kubelet.
func (c *Cluster) NodeKubeconfig(node string) string { return c.path(pki, node+".kubeconfig") }

// ProxyKubeconfig returns the path of kube-proxy's kubeconfig, which only exists with real nodes.
func (c *Cluster) ProxyKubeconfig() string { return c.path(pki, assets.KubeProxy+".kubeconfig") }

// AuthorityFile returns the path of the certificate of the authority that signed all clients' certificates.
func (c *Cluster) AuthorityFile() string { return c.path(pki, "ca.crt") }

// Kubectl returns the path of kubectl.
func (c *Cluster) Kubectl() string { return c.options.Assets.Path(assets.Kubectl) }

// ServiceAccountConfig returns the configuration of a client with the permissions of a service account.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	token, err := c.serviceAccountToken(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(c.admin)
	config.BearerToken = token
	return config, nil
}

// APIEndpoint is the address at which a client reaches the API server.
type APIEndpoint struct {
	// URL must begin with https: clients send no token over plain HTTP.
	URL string
	// CABundle is the PEM certificate of the authority that signed the certificate of the endpoint.
	CABundle []byte
}

// ServiceAccountKubeconfig writes a kubeconfig with the permissions of a service account. It has the address of the API server,
// or that of the endpoint if it isn't nil.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name, path string, through *APIEndpoint) error {
	token, err := c.serviceAccountToken(ctx, namespace, name)
	if err != nil {
		return err
	}
	if through == nil {
		return c.writeKubeconfig(path, name, &clientcmdapi.AuthInfo{Token: token})
	}
	return writeKubeconfigFor(*through, path, name, &clientcmdapi.AuthInfo{Token: token})
}

func (c *Cluster) serviceAccountToken(ctx context.Context, namespace, name string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(tokenSeconds)}}
	request, err := c.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token of service account %s/%s (is it among the installed objects?): %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// writeCredentials creates the keys and certificates of the control plane, unless an earlier start has.
func (c *Cluster) writeCredentials() error {
	authority := c.path(pki, "ca.crt")
	if _, err := os.Stat(authority); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.path(pki), 0o700); err != nil {
		return fmt.Errorf("create the folder of keys: %w", err)
	}
	ca, err := newAuthority("altershield-local-ca")
	if err != nil {
		return err
	}
	if err := ca.writeServing(c.path(pki, "apiserver.crt"), c.path(pki, "apiserver.key"), c.addresses()...); err != nil {
		return err
	}
	if err := writeServiceAccountKey(c.path(pki, "service-accounts.key"), c.path(pki, "service-accounts.pub")); err != nil {
		return err
	}
	for _, u := range c.users() {
		cert, key, err := ca.client(u.name, u.group)
		if err != nil {
			return err
		}
		if err := writeFiles(map[string][]byte{c.path(pki, u.file+".crt"): cert, c.path(pki, u.file+".key"): key}); err != nil {
			return err
		}
	}
	// Written last: its presence means that all others exist.
	return writeFiles(map[string][]byte{authority: certPEM(ca.cert.Raw)})
}

// user is a client of the API server with a certificate.
type user struct{ file, name, group string }

// users returns all of them; the first is the administrator.
func (c *Cluster) users() []user {
	users := []user{
		{file: "admin", name: "admin", group: "system:masters"},
		{file: assets.ControllerManager, name: "system:kube-controller-manager"},
		{file: assets.Scheduler, name: "system:kube-scheduler"},
	}
	if c.options.Real == nil {
		return append(users, user{file: assets.KWOK, name: "kwok", group: "system:masters"})
	}
	users = append(users,
		user{file: kubeletClient, name: "kube-apiserver-kubelet-client", group: "system:masters"},
		user{file: frontProxy, name: frontProxy},
		user{file: assets.KubeProxy, name: "system:kube-proxy"})
	for _, node := range c.options.Real.Names {
		users = append(users, user{file: node, name: "system:node:" + node, group: "system:nodes"})
	}
	return users
}

// writeKubeconfigs writes a kubeconfig for every user and keeps the administrator's configuration.
func (c *Cluster) writeKubeconfigs() error {
	for _, u := range c.users() {
		cert, err := os.ReadFile(c.path(pki, u.file+".crt"))
		if err != nil {
			return fmt.Errorf("read the certificate of %s: %w", u.name, err)
		}
		key, err := os.ReadFile(c.path(pki, u.file+".key"))
		if err != nil {
			return fmt.Errorf("read the key of %s: %w", u.name, err)
		}
		path := c.path(pki, u.file+".kubeconfig")
		if u.file == "admin" {
			path = c.Kubeconfig()
		}
		info := &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		if err := c.writeKubeconfig(path, u.name, info); err != nil {
			return err
		}
	}
	var err error
	if c.admin, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return fmt.Errorf("read %s: %w", c.Kubeconfig(), err)
	}
	c.admin.QPS = -1 // no limit on our side
	if c.clients, err = kubernetes.NewForConfig(c.admin); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return nil
}

func (c *Cluster) writeKubeconfig(path, userName string, info *clientcmdapi.AuthInfo) error {
	ca, err := os.ReadFile(c.path(pki, "ca.crt"))
	if err != nil {
		return fmt.Errorf("read the authority's certificate: %w", err)
	}
	return writeKubeconfigFor(APIEndpoint{URL: c.serverURL(), CABundle: ca}, path, userName, info)
}

func writeKubeconfigFor(endpoint APIEndpoint, path, userName string, info *clientcmdapi.AuthInfo) error {
	const name = "altershield-local"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: endpoint.URL, CertificateAuthorityData: endpoint.CABundle}
	config.AuthInfos[userName] = info
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: userName, Namespace: "default"}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return writeFiles(map[string][]byte{path: content})
}
