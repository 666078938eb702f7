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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

const (
	// fieldOwner is the owner of the fields of installed objects.
	fieldOwner = "altershield-local"
	// establishTimeout bounds the wait for the API server to serve a new kind.
	establishTimeout = time.Minute
)

// WebhookEndpoint is the address of the webhooks of a manager outside the cluster.
type WebhookEndpoint struct {
	// Host is an address on this machine, 127.0.0.1 if empty.
	Host string
	Port int
	// CABundle is the PEM certificate of the authority that signed the serving certificate, empty if something else keeps it in the configurations.
	CABundle []byte
}

// Install builds a kustomization and applies its objects.
func (c *Cluster) Install(ctx context.Context, kustomization string, webhook WebhookEndpoint) error {
	objects, err := manifests.Build(exec.CommandContext(ctx, c.Kubectl(), "kustomize", kustomization), kustomization)
	if err == nil {
		err = c.Apply(ctx, objects, webhook)
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", kustomization, err)
	}
	return nil
}

// Apply applies objects, which the API server validates strictly: namespaces and CustomResourceDefinitions first, webhook configurations,
// redirected to the endpoint, last.
func (c *Cluster) Apply(ctx context.Context, objects []*unstructured.Unstructured, webhook WebhookEndpoint) error {
	for _, object := range objects {
		if err := pointWebhooks(object, webhook); err != nil {
			return err
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	// The client discovers new kinds as they are created.
	writer, err := client.New(c.Config(), client.Options{})
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	for _, object := range objects {
		apply := client.ApplyConfigurationFromUnstructured(object)
		if err := writer.Apply(ctx, apply, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
		}
		if object.GetKind() == definitionKind {
			if err := c.awaitEstablished(ctx, writer, object); err != nil {
				return err
			}
		}
	}
	return nil
}

const definitionKind = "CustomResourceDefinition"

// rank orders objects for installation.
func rank(object *unstructured.Unstructured) int {
	switch kind := object.GetKind(); {
	case kind == "Namespace":
		return 0
	case kind == definitionKind:
		return 1
	case isWebhookConfiguration(kind):
		return 3 // the API server calls the webhooks as soon as these exist
	default:
		return 2
	}
}

func isWebhookConfiguration(kind string) bool {
	return kind == "MutatingWebhookConfiguration" || kind == "ValidatingWebhookConfiguration"
}

// pointWebhooks redirects a webhook configuration to the endpoint, each webhook with its own path.
func pointWebhooks(object *unstructured.Unstructured, endpoint WebhookEndpoint) error {
	if !isWebhookConfiguration(object.GetKind()) {
		return nil
	}
	webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	for i := range webhooks {
		webhook, ok := webhooks[i].(map[string]any)
		if !ok {
			return fmt.Errorf("%s %s: webhook %d is not an object", object.GetKind(), object.GetName(), i)
		}
		if webhook["clientConfig"], err = endpoint.inPlaceOf(webhook["clientConfig"]); err != nil {
			return fmt.Errorf("%s %s: webhook %d: %w", object.GetKind(), object.GetName(), i, err)
		}
	}
	return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}

// inPlaceOf returns the configuration of a client of the endpoint with the path of another one's service or URL; the API server uses "/" if a
// service has none.
func (e WebhookEndpoint) inPlaceOf(content any) (map[string]any, error) {
	var former struct {
		URL     string `json:"url"`
		Service struct {
			Path string `json:"path"`
		} `json:"service"`
	}
	fields, _ := content.(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &former); err != nil {
		return nil, err
	}
	address, err := url.Parse(former.URL)
	if err != nil {
		return nil, fmt.Errorf("clientConfig.url: %w", err)
	}
	path := cmp.Or(former.Service.Path, address.Path)
	target := net.JoinHostPort(cmp.Or(e.Host, loopback), strconv.Itoa(e.Port)) + "/" + strings.TrimPrefix(path, "/")
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + target), CABundle: e.CABundle})
}

// awaitEstablished waits until the API server serves a CustomResourceDefinition.
func (c *Cluster) awaitEstablished(ctx context.Context, reader client.Reader, definition *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	return c.await(ctx, definition.GetName()+" to be served", func(ctx context.Context) error {
		current := &unstructured.Unstructured{}
		current.SetGroupVersionKind(definition.GroupVersionKind())
		if err := reader.Get(ctx, client.ObjectKeyFromObject(definition), current); err != nil {
			return err
		}
		var served apiextensionsv1.CustomResourceDefinition
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(current.Object, &served)
		if err != nil || apihelpers.IsCRDConditionTrue(&served, apiextensionsv1.Established) {
			return err
		}
		return errors.New("it is not established")
	})
}
