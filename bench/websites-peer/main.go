// What a user of controller-runtime would write for examples/website: a Deployment and a Service for each Website, kept as they are
// declared, and a status. `node bench/websites.ts` loads either operator.
package main

import (
	"context"
	"flag"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var websiteKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"}

type websites struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *websites) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &unstructured.Unstructured{}
	site.SetGroupVersionKind(websiteKind)
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if site.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: site.GetName(), Namespace: site.GetNamespace()}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r, deployment, func() error {
		declareDeployment(site, deployment)
		return controllerutil.SetControllerReference(site, deployment, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: site.GetName(), Namespace: site.GetNamespace()}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r, service, func() error {
		service.Spec.Selector = labelsOf(site)
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}}
		return controllerutil.SetControllerReference(site, service, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.updateStatus(ctx, site, deployment)
}

func labelsOf(site *unstructured.Unstructured) map[string]string {
	return map[string]string{"app.kubernetes.io/name": site.GetName()}
}

func declareDeployment(site *unstructured.Unstructured, deployment *appsv1.Deployment) {
	image, _, _ := unstructured.NestedString(site.Object, "spec", "image")
	replicas, _, _ := unstructured.NestedInt64(site.Object, "spec", "replicas")
	wanted := int32(replicas)
	deployment.Labels = labelsOf(site)
	deployment.Spec.Replicas = &wanted
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labelsOf(site)}
	template := &deployment.Spec.Template
	template.Labels = labelsOf(site)
	// The server's defaults stay, or each update would differ.
	if len(template.Spec.Containers) != 1 {
		template.Spec.Containers = []corev1.Container{{Name: "web"}}
	}
	template.Spec.Containers[0].Image = image
	template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
}

func (r *websites) updateStatus(ctx context.Context, site *unstructured.Unstructured, deployment *appsv1.Deployment) error {
	ready := "False"
	if deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.AvailableReplicas == *deployment.Spec.Replicas {
		ready = "True"
	}
	status := map[string]any{
		"url":                fmt.Sprintf("http://%s.%s.svc", site.GetName(), site.GetNamespace()),
		"observedGeneration": site.GetGeneration(),
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": "Deployment", "message": "see the Deployment",
			"lastTransitionTime": transitionTime(site, ready), "observedGeneration": site.GetGeneration(),
		}},
	}
	if equality.Semantic.DeepEqual(site.Object["status"], status) {
		return nil
	}
	site.Object["status"] = status
	return r.Status().Update(ctx, site)
}

func transitionTime(site *unstructured.Unstructured, ready string) string {
	conditions, _, _ := unstructured.NestedSlice(site.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["status"] == ready {
			return fmt.Sprint(condition["lastTransitionTime"])
		}
	}
	return metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
}

func main() {
	concurrency := flag.Int("concurrency", 1, "how many Websites are reconciled at once")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	must(err)
	site := &unstructured.Unstructured{}
	site.SetGroupVersionKind(websiteKind)
	must(ctrl.NewControllerManagedBy(manager).
		For(site).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *concurrency}).
		Complete(&websites{manager.GetClient(), scheme}))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
