// Package onnxtest makes models for tests and for runs without a network: made by
// rule or by chance, small, and the same whenever they are made. None of them was
// trained, and none is anybody's.
//
// [BERT] is a network of the architecture that cross-encoders have, with weights by
// chance, and computes its own outputs in double precision, for tests of the
// numbers. [WriteOverlap] writes a cross-encoder whose scores make sense: how much
// of the question the passage holds.
package onnxtest
