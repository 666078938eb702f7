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
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// Reads the credentials and the authorities of VerificationSources. Secrets of other namespaces can't be read.
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=get

// probe is the query by which a source shows that it answers. It reads no series.
const probe = "vector(1)"

// Sources are the sources that can be asked, of metrics and plug-ins. The VerificationSource reconciler keeps them, so that a check reads
// nothing from the API server, but for a source that the reconciler has yet to look at.
type Sources struct {
	// Client reads namespaces and VerificationSources from the cache.
	Client client.Reader
	// Secrets reads Secrets from the API server.
	Secrets client.Reader
	// Namespace is the namespace of the operator, which has the VerificationSources and their Secrets.
	Namespace string
	Guard     Guard
	Clock     clock.PassiveClock
	Metrics   *Metrics
	// Traced makes a question to a plug-in a span of its release. It is nil where nothing is traced.
	Traced func(http.RoundTripper) http.RoundTripper

	// reading is held while a source is read that isn't known, so that none is kept which was forgotten meanwhile.
	reading sync.Mutex
	mutex   sync.RWMutex
	known   map[string]*known
}

// known is a source as its object was read last.
type known struct {
	spec appv1alpha1.VerificationSourceSpec
	// of is the version of the object and of its Secrets.
	of string
	// exchange and endpoint are nil if failure says why the source can't be asked.
	exchange *exchange
	endpoint *endpoint
	failure  *Error
}

// Reader returns a reader of a source of metrics for the checks of workloads in a namespace. The error is an *Error if the source can't be asked.
func (s *Sources) Reader(ctx context.Context, name, namespace string) (*Reader, error) {
	source, err := s.usable(ctx, name, namespace)
	if err != nil {
		return nil, err
	}
	if source.spec.Type == appv1alpha1.SourceHTTP {
		return nil, &Error{Source: name, Kind: KindInvalid, Message: "spec.type is HTTP: a plug-in has no metrics"}
	}
	reader := &Reader{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}, endpoint: source.endpoint, namespace: namespace}
	if prometheus := source.spec.Prometheus; prometheus != nil {
		reader.Labels, reader.enforced = prometheus.Labels, prometheus.EnforceNamespace
	}
	return reader, nil
}

// usable returns a source that can be asked about workloads in a namespace.
func (s *Sources) usable(ctx context.Context, name, namespace string) (*known, error) {
	source, err := s.findOrRead(ctx, name)
	if err != nil {
		return nil, err
	}
	if source.failure != nil {
		return nil, source.failure
	}
	if selector := source.spec.AllowedNamespaces; selector != nil {
		allowed, err := concern.Selection{Namespaces: selector}.HasNamespace(ctx, s.Client, namespace)
		if err != nil {
			return nil, err
		}
		if !allowed {
			return nil, &Error{Source: name, Kind: KindForbidden, Message: "spec.allowedNamespaces doesn't select namespace " + namespace}
		}
	}
	return source, nil
}

// findOrRead returns a source. A new leader may be asked for it before the reconciler has looked at it, and the verdict of a last look stands:
// it must not be that the source is missing.
func (s *Sources) findOrRead(ctx context.Context, name string) (*known, error) {
	if source := s.find(name); source != nil {
		return source, nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if source := s.find(name); source != nil { // another check has read it meanwhile
		return source, nil
	}
	var object appv1alpha1.VerificationSource
	err := s.Client.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, &object)
	if apierrors.IsNotFound(err) {
		return nil, &Error{Source: name, Kind: KindMissing, Message: "there is no such source in namespace " + s.Namespace}
	}
	if err != nil {
		return nil, fmt.Errorf("reading VerificationSource %s/%s: %w", s.Namespace, name, err)
	}
	return s.present(ctx, &object)
}

func (s *Sources) find(name string) *known {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.known[name]
}

// Look keeps a source as it is now, with the present content of its Secrets, and asks it a query that reads no series, or greets a plug-in. It
// returns why the source can't be asked, nil if it answers; the error is one of the API server.
func (s *Sources) Look(ctx context.Context, object *appv1alpha1.VerificationSource) (*Error, error) {
	source, err := s.present(ctx, object)
	if apierrors.IsForbidden(err) { // checks go on with what was read before
		return &Error{Source: object.Name, Kind: KindBadSecret, Message: oneline.Of(err.Error(), maxMessage), err: err}, nil
	}
	if err != nil {
		return nil, err
	}
	if source.failure != nil {
		return source.failure, nil
	}
	source.endpoint.expire() // also of a source that doesn't answer, which keeps nothing new
	if source.spec.Type == appv1alpha1.SourceHTTP {
		err = source.plugin().greet(ctx)
	} else {
		_, err = source.endpoint.queryInstant(ctx, probe, s.Clock.Now())
	}
	failure, ok := errors.AsType[*Error](err)
	if err != nil && !ok {
		return nil, err
	}
	return failure, nil
}

// WasLimited reports whether a query of a source wasn't sent since the last call, as it would have been beyond the limits of the source.
func (s *Sources) WasLimited(name string) bool {
	source := s.find(name)
	return source != nil && source.endpoint != nil && source.endpoint.limited.Swap(false)
}

// present returns a source as it is now. Its breaker and its answers are kept if it is as before.
func (s *Sources) present(ctx context.Context, object *appv1alpha1.VerificationSource) (*known, error) {
	s.Metrics.begin(object.Name) // also of one that can't be asked: an alert of it must not end with a restart
	found, versions, err := s.read(ctx, &object.Spec)
	if err != nil {
		return nil, err
	}
	of := fmt.Sprintf("%s %d %s", object.UID, object.Generation, versions)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if source := s.known[object.Name]; source != nil && source.of == of {
		return source, nil
	}
	s.drop(object.Name)
	if s.known == nil {
		s.known = map[string]*known{}
	}
	s.known[object.Name] = s.build(object, of, found)
	return s.known[object.Name], nil
}

// Forget drops a source that is gone.
func (s *Sources) Forget(name string) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.drop(name)
	s.Metrics.end(name)
}

// drop drops a source, if it is known, while the mutex is held.
func (s *Sources) drop(name string) {
	if old := s.known[name]; old != nil && old.endpoint != nil {
		old.endpoint.close()
	}
	delete(s.known, name)
}

func (s *Sources) build(object *appv1alpha1.VerificationSource, of string, from secrets) *known {
	source := &known{spec: *object.Spec.DeepCopy(), of: of}
	to, failure := connect(&source.spec, from)
	if failure != nil {
		failure.Source, source.failure = object.Name, failure
		return source
	}
	source.exchange = newExchange(to, s.Guard, s.Clock)
	if s.Traced != nil && source.spec.Type == appv1alpha1.SourceHTTP {
		traced := *source.exchange.http // the connections are still closed by the other one
		traced.Transport = s.Traced(traced.Transport)
		source.exchange.http = &traced
	}
	source.endpoint = newEndpoint(object.Name, source.exchange, source.spec.Limits, s.Metrics)
	return source
}

// read reads the Secrets of a source. Missing ones are left out. versions differ if the contents do.
func (s *Sources) read(ctx context.Context, spec *appv1alpha1.VerificationSourceSpec) (found secrets, versions []string, err error) {
	found = secrets{}
	for _, name := range named(spec) {
		var secret corev1.Secret
		err := s.Secrets.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, &secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading Secret %s/%s: %w", s.Namespace, name, err)
		}
		found[name] = secret.Data
		versions = append(versions, string(secret.UID)+"/"+secret.ResourceVersion)
	}
	return found, versions, nil
}
