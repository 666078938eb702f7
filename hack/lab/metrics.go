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
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	// metricsReader is the account that reads the metrics, metricsRole its role.
	metricsReader = "lab-metrics-reader"
	metricsRole   = "altershieldoperator-metrics-reader"
	// metricsTimeout is how long the manager may take to answer.
	metricsTimeout = 10 * time.Second
)

// Metrics reads the metrics of the manager, by name.
func (l *Lab) Metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	return l.MetricsOf(ctx, l.Operator)
}

// MetricsOf reads the metrics of one of several managers.
func (l *Lab) MetricsOf(ctx context.Context, manager *operator.Operator) (map[string]*dto.MetricFamily, error) {
	if l.bearer == "" {
		config, err := l.Account(ctx, metricsReader, metricsRole)
		if err != nil {
			return nil, err
		}
		l.bearer = config.BearerToken
	}
	reader, err := rest.HTTPClientFor(&rest.Config{
		BearerToken: l.bearer, Timeout: metricsTimeout, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(l.dir, "serving-certs", "ca.crt")},
	})
	if err != nil {
		return nil, err
	}
	content, err := get(ctx, reader, "https://"+manager.MetricsAddress()+"/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(content))
}

// Account creates a service account with the permissions of a ClusterRole, and returns the configuration of its client.
func (l *Lab) Account(ctx context.Context, name, role string) (*rest.Config, error) {
	account := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: account},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: name}},
		},
	} {
		if err := l.Kube.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("creating the account %s: %w", name, err)
		}
	}
	return l.Plane.ServiceAccountConfig(ctx, account.Namespace, name)
}

// Profile reads a profile of the manager, such as "heap?gc=1", from the address of its --pprof-bind-address.
func Profile(ctx context.Context, address, name string) ([]byte, error) {
	return get(ctx, http.DefaultClient, "http://"+address+"/debug/pprof/"+name)
}

// get reads what the manager serves at a URL.
func get(ctx context.Context, reader *http.Client, url string) (content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := reader.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the manager: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking the manager: %s answers %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
