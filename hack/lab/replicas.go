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
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// StartReplicas installs the operator and starts several managers with the given names, instead of running ones. They elect a leader.
// Webhooks and callbacks reach one that answers, as through a Service.
func (l *Lab) StartReplicas(ctx context.Context, names []string, edits ...func(*operator.Options)) error {
	if err := l.StopOperator(ctx); err != nil {
		return err
	}
	var serving context.Context
	serving, l.stopFronts = context.WithCancel(context.WithoutCancel(ctx))
	webhooks, err := listen(serving)
	if err != nil {
		return err
	}
	callbacks, err := listen(serving)
	if err != nil {
		return err
	}
	var replicas []*operator.Operator
	for _, name := range names {
		replica, err := l.install(ctx, operator.Options{Name: name, Front: webhooks.port(), Args: []string{"--leader-elect"}}, edits)
		if err != nil {
			return err
		}
		replicas = append(replicas, replica)
		ports := replica.Options().Ports
		webhooks.targets = append(webhooks.targets, ports.Webhook)
		callbacks.targets = append(callbacks.targets, ports.Callback)
	}
	go webhooks.serve(serving)
	go callbacks.serve(serving)
	for _, replica := range replicas {
		if err := replica.Start(ctx); err != nil {
			return err
		}
		l.Replicas = append(l.Replicas, replica)
		l.Operator = l.Replicas[0]
	}
	if l.Server != nil {
		l.Server.SetCallbackURL(fmt.Sprintf("http://127.0.0.1:%d/openapi/altershield/callback", callbacks.port()))
	}
	return nil
}

// ReplaceReplicas installs another version of the operator, and replaces the running replicas by its manager, one after the other.
func (l *Lab) ReplaceReplicas(ctx context.Context, edit func(*operator.Options)) error {
	for i, replica := range l.Replicas {
		options := replica.Options()
		edit(&options)
		next, err := operator.Install(ctx, l.Plane, options)
		if err != nil {
			return err
		}
		if err := next.Start(ctx); err != nil { // it stops the one of the same name
			return err
		}
		l.Replicas[i] = next
	}
	l.Operator = l.Replicas[0]
	return nil
}

// front forwards each connection to the next of several ports that accepts it.
type front struct {
	listener net.Listener
	targets  []int
	next     atomic.Int64
}

func listen(ctx context.Context) (*front, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the replicas: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return &front{listener: listener}, nil
}

func (f *front) port() int {
	address, _ := f.listener.Addr().(*net.TCPAddr)
	return address.Port
}

// serve accepts connections until the listener is closed.
func (f *front) serve(ctx context.Context) {
	for {
		connection, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.pass(ctx, connection)
	}
}

func (f *front) pass(ctx context.Context, connection net.Conn) {
	defer connection.Close()
	var dialer net.Dialer
	first := int(f.next.Add(1))
	for i := range f.targets {
		port := f.targets[(first+i)%len(f.targets)]
		target, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		defer target.Close()
		defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
		go func() {
			defer target.Close()
			_, _ = io.Copy(target, connection) // either end may close at any time
		}()
		_, _ = io.Copy(connection, target)
		return
	}
}
