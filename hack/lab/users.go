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

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// As returns the client of an administrator with another name, such as of one who isn't the author of a release.
func (l *Lab) As(user string) (client.Client, error) {
	config := l.Plane.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	return client.New(config, client.Options{Scheme: l.Kube.Scheme()})
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
