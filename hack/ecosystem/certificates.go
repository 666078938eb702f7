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
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	// authority and serving are the Certificates of the overlay.
	authority = prefix + "ca"
	serving   = prefix + "serving-cert"
	// lag is for how long a pod still sees an old Secret here; the kubelet takes up to 90 s.
	lag = 5 * time.Second
	// quiet is the time without a write after which no two writers fight.
	quiet = 15 * time.Second
)

// tryCertManager has cert-manager issue, renew and replace the operator's certificate while releases pass.
func tryCertManager(ctx context.Context, s *stage) error {
	fmt.Fprintln(s.out, "\ncert-manager")
	for _, step := range []func(context.Context) error{
		s.installCertManager, s.installOverlay, s.missesSecret, s.issue, s.serves, s.declares,
		s.renewed, s.deleted, s.replaced, s.agrees,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// missesSecret starts the manager before there is a certificate. In a cluster the kubelet starts no container then.
func (s *stage) missesSecret(ctx context.Context) error {
	err := s.startOperator(ctx)
	if err == nil {
		return errors.New("the manager runs without a certificate")
	}
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "no such file or directory") {
			s.tell("operator", "without the Secret: %s", strings.ReplaceAll(line, s.dir, "..."))
			return nil
		}
	}
	return fmt.Errorf("the manager doesn't say that the certificate is missing: %w", err)
}

// serves mounts the Secret, starts the manager, and releases.
func (s *stage) serves(ctx context.Context) error {
	data, err := s.secret(ctx)
	if err != nil {
		return err
	}
	if err := s.tls.follow(data); err != nil {
		return err
	}
	if err := s.startOperator(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.lab.SetBatch(ctx, 1), s.lab.Namespace(ctx, shop, true)); err != nil {
		return err
	}
	if err := s.lab.Kube.Create(ctx, lab.Deployment(shop, shop, 2)); err != nil {
		return err
	}
	return s.release(ctx, "with the first certificate")
}

// declares puts a kind under control, whose webhooks are in configurations that cainjector doesn't know.
func (s *stage) declares(ctx context.Context) error {
	if err := s.lab.Declare(ctx); err != nil {
		return err
	}
	return s.trusted(ctx)
}

// renewed renews the certificate while releases are tried.
func (s *stage) renewed(ctx context.Context) error {
	return s.changed(ctx, "renewed", false, func(ctx context.Context) error { return s.renew(ctx, serving) })
}

// deleted deletes the Secret meanwhile.
func (s *stage) deleted(ctx context.Context) error {
	return s.changed(ctx, "in a Secret that was deleted", false, func(ctx context.Context) error {
		s.tell("user", "deletes the Secret")
		return s.lab.Kube.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: servingSecret}})
	})
}

// replaced replaces the authority, with a key of its own, and then the certificate. cainjector leaves the authority before in the CA bundles.
func (s *stage) replaced(ctx context.Context) error {
	return s.changed(ctx, "of another authority", true, func(ctx context.Context) error {
		return errors.Join(s.renew(ctx, authority), s.renew(ctx, serving))
	})
}

// changed has the certificate change, also by another authority, while releases are tried: none is refused, and the same process serves it.
func (s *stage) changed(ctx context.Context, how string, authority bool, change func(context.Context) error) error {
	before, err := s.secret(ctx)
	if err != nil {
		return err
	}
	pid := s.lab.Operator.Pid()
	tried, err := s.during(ctx, func(ctx context.Context) error {
		if err := change(ctx); err != nil {
			return err
		}
		after, err := s.issuedAgain(ctx, before["tls.crt"])
		if err != nil {
			return err
		}
		if replaced := !bytes.Equal(after[authorityKey], before[authorityKey]); replaced != authority {
			return fmt.Errorf("that the authority is another one is %t", replaced)
		}
		return errors.Join(s.trusted(ctx), s.follows(ctx, before, after))
	})
	if err := errors.Join(err, tried.unharmed(), s.lab.Ended()); err != nil {
		return err
	}
	if now := s.lab.Operator.Pid(); now != pid {
		return fmt.Errorf("the manager was started again: process %d, then %d", pid, now)
	}
	s.tell("operator", "the certificate %s is served by the same process; meanwhile %d tried releases passed, none was refused", how, tried.passed)
	return s.release(ctx, "with a certificate "+how)
}

// follows mounts a newer Secret after a while, as the kubelet does. Until then the one before is served, and from then on the newer one.
func (s *stage) follows(ctx context.Context, before, after map[string][]byte) error {
	webhooks, metrics := address(s.ports.Webhook), address(s.ports.Metrics)
	if err := s.served(ctx, webhooks, before[authorityKey], before["tls.crt"]); err != nil {
		return err
	}
	if err := lab.Pause(ctx, lag); err != nil {
		return err
	}
	if err := s.tls.follow(after); err != nil {
		return err
	}
	began := time.Now()
	if err := errors.Join(s.served(ctx, webhooks, after[authorityKey], after["tls.crt"]), s.served(ctx, metrics, after[authorityKey], after["tls.crt"])); err != nil {
		return err
	}
	s.tell("operator", "serves the new certificate %s after it is in the mounted folder, at the webhooks and the metrics", time.Since(began).Round(time.Millisecond))
	return nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// agrees takes the CA bundles away, and applies the overlay again. They come back, and then the webhook configurations rest.
func (s *stage) agrees(ctx context.Context) error {
	for _, name := range []string{fixedMutating, kindsMutating} {
		lost := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		patch := `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`
		if err := s.lab.Kube.Patch(ctx, lost, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
			return fmt.Errorf("taking the CA bundle of %s away: %w", name, err)
		}
		s.tell("user", "takes the CA bundle of %s away", name)
		if err := s.trusted(ctx); err != nil {
			return err
		}
	}
	if err := s.applyOverlay(ctx); err != nil {
		return err
	}
	s.tell("user", "applies config/overlays/cert-manager again")
	if err := s.trusted(ctx); err != nil {
		return err
	}
	if err := s.still(ctx); err != nil {
		return err
	}
	return s.release(ctx, "after all that")
}

// still waits until no webhook configuration has changed for a while. Where two writers fight, that never comes.
func (s *stage) still(ctx context.Context) error {
	var seen map[string]string
	var since time.Time
	return lab.Until(ctx, patience, fmt.Sprintf("%s without a write", quiet), func(ctx context.Context) error {
		configurations, err := s.configurations(ctx)
		if err != nil {
			return err
		}
		versions := map[string]string{}
		for _, found := range configurations {
			versions[found.GetKind()+" "+found.GetName()] = found.GetResourceVersion()
		}
		if !maps.Equal(versions, seen) {
			seen, since = versions, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("the last write was %s ago: %v", time.Since(since), slices.Sorted(maps.Values(versions)))
		}
		s.tell("", "nobody writes to the %d webhook configurations for %s", len(versions), quiet)
		return nil
	})
}
