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
	"os"
	"path/filepath"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
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
	if l.metricsReader == nil {
		config, err := l.Account(ctx, metricsReader, metricsRole)
		if err != nil {
			return nil, err
		}
		// One for all readings: each new one would leave a connection, and with it goroutines of the manager, for 90 seconds.
		l.metricsReader, err = rest.HTTPClientFor(&rest.Config{
			BearerToken: config.BearerToken, Timeout: metricsTimeout, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(l.dir, "serving-certs", "ca.crt")},
		})
		if err != nil {
			return nil, err
		}
	}
	content, err := get(ctx, l.metricsReader, "https://"+manager.MetricsAddress()+"/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(content))
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

const (
	// quietFor is how long there may be hardly any writes until a control plane counts as quiet.
	quietFor = time.Second
	// quietBytes is how much the leases of nodes and the control plane's own writes may add to the audit log during that time.
	quietBytes = 20_000
	// settingWait is how long the manager may take to create its settings.
	settingWait = 30 * time.Second
)

// RemoveWebhooks deletes the operator's webhook configurations. StartOperator creates them again.
func (l *Lab) RemoveWebhooks(ctx context.Context) error {
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-mutating-webhook-configuration"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-validating-webhook-configuration"}},
	} {
		if err := l.Kube.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// SetBatch sets the number of pods in a batch, from the next release on.
func (l *Lab) SetBatch(ctx context.Context, size int) error {
	return l.Set(ctx, appv1alpha1.ConfigBranch, size > 1, strconv.Itoa(size))
}

// Set changes a setting of the operator.
func (l *Lab) Set(ctx context.Context, name string, enable bool, content string) error {
	key := client.ObjectKey{Namespace: operator.Namespace, Name: name}
	return Until(ctx, settingWait, "changing OpsConfigInfo "+key.String(), func(ctx context.Context) error {
		var setting appv1alpha1.OpsConfigInfo
		if err := l.Kube.Get(ctx, key, &setting); err != nil {
			return err // the leader creates it
		}
		setting.Spec.Enable, setting.Spec.Content = enable, content
		return l.Kube.Update(ctx, &setting)
	})
}

// Position returns the current end of the audit log, for RequestsSince.
func (l *Lab) Position() (int64, error) {
	info, err := os.Stat(l.Plane.AuditLog())
	if err != nil {
		return 0, fmt.Errorf("reading the audit log: %w", err)
	}
	return info.Size(), nil
}

// RequestsSince returns the requests of the manager to the API server since a position of the audit log.
func (l *Lab) RequestsSince(position int64) ([]auditv1.Event, error) {
	log, err := os.Open(l.Plane.AuditLog())
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer log.Close()
	if _, err := log.Seek(position, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return audit.Read(log, operator.User)
}

// Quiet waits until hardly anything is written to the control plane.
func (l *Lab) Quiet(ctx context.Context) error {
	last, err := l.Position()
	for err == nil {
		if err := Pause(ctx, quietFor); err != nil {
			return fmt.Errorf("the control plane didn't become quiet: %w", err)
		}
		now, failure := l.Position()
		if failure == nil && now-last < quietBytes {
			return nil
		}
		last, err = now, failure
	}
	return err
}
