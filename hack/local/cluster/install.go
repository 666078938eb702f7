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
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		path, err := webhookPath(webhook)
		if err != nil {
			return fmt.Errorf("%s %s: webhook %d: %w", object.GetKind(), object.GetName(), i, err)
		}
		clientConfig := map[string]any{"url": endpoint.url(path)}
		if len(endpoint.CABundle) > 0 {
			clientConfig["caBundle"] = base64.StdEncoding.EncodeToString(endpoint.CABundle)
		}
		webhook["clientConfig"] = clientConfig
	}
	return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}

func (e WebhookEndpoint) url(path string) string {
	host := e.Host
	if host == "" {
		host = loopback
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(e.Port)) + path
}

// webhookPath returns the path of a webhook's service or URL; the API server uses "/" if a service has none.
func webhookPath(webhook map[string]any) (string, error) {
	raw, found, err := unstructured.NestedString(webhook, "clientConfig", "url")
	if err != nil {
		return "", err
	}
	if found {
		parsed, err := url.Parse(raw)
		if err != nil {
			return "", fmt.Errorf("clientConfig.url: %w", err)
		}
		return "/" + strings.TrimPrefix(parsed.Path, "/"), nil
	}
	path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
	if err != nil {
		return "", err
	}
	return "/" + strings.TrimPrefix(path, "/"), nil
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
		conditions, _, err := unstructured.NestedSlice(current.Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, condition := range conditions {
			if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" && fields["status"] == "True" {
				return nil
			}
		}
		return errors.New("it is not established")
	})
}
