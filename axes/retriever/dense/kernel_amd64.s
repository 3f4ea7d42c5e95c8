#include "textflag.h"

// QUESTION adds the products of both halves of a panel's pair, Y12 and Y13,
// with one question's pair, broadcast, to its two sums.
#define QUESTION(at, low, high) \
	VPBROADCASTD at(DI), Y14 \
	VPMADDWD     Y14, Y12, Y15 \
	VPADDD       Y15, low, low \
	VPMADDWD     Y14, Y13, Y15 \
	VPADDD       Y15, high, high

// STORE stores a question's sums and which of them are over its limit.
#define STORE(q, low, high) \
	VMOVDQU      low, (q*64)(DX) \
	VMOVDQU      high, (q*64+32)(DX) \
	VPBROADCASTD (q*4)(R8), Y12 \
	VPCMPGTD     Y12, low, Y13 \
	VPCMPGTD     Y12, high, Y14 \
	VMOVMSKPS    Y13, AX \
	VMOVMSKPS    Y14, BX \
	SHLL         $8, BX \
	ORL          BX, AX \
	MOVL         AX, (384+q*4)(DX)

// func multiplyAVX2(panel, group *int16, pairs int, limits *[6]int32, out *tile)
TEXT ·multiplyAVX2(SB), NOSPLIT, $0-40
	MOVQ  panel+0(FP), SI
	MOVQ  group+8(FP), DI
	MOVQ  pairs+16(FP), CX
	MOVQ  limits+24(FP), R8
	MOVQ  out+32(FP), DX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11

pair:
	VMOVDQU (SI), Y12
	VMOVDQU 32(SI), Y13
	QUESTION(0, Y0, Y1)
	QUESTION(4, Y2, Y3)
	QUESTION(8, Y4, Y5)
	QUESTION(12, Y6, Y7)
	QUESTION(16, Y8, Y9)
	QUESTION(20, Y10, Y11)
	ADDQ    $64, SI
	ADDQ    $24, DI
	DECQ    CX
	JNZ     pair

	STORE(0, Y0, Y1)
	STORE(1, Y2, Y3)
	STORE(2, Y4, Y5)
	STORE(3, Y6, Y7)
	STORE(4, Y8, Y9)
	STORE(5, Y10, Y11)
	VZEROUPPER
	RET

// func multiplyOneAVX2(panel, question *int16, pairs int, limit int32, out *tile)
TEXT ·multiplyOneAVX2(SB), NOSPLIT, $0-40
	MOVQ  panel+0(FP), SI
	MOVQ  question+8(FP), DI
	MOVQ  pairs+16(FP), CX
	LEAQ  limit+24(FP), R8
	MOVQ  out+32(FP), DX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

one:
	VMOVDQU (SI), Y12
	VMOVDQU 32(SI), Y13
	QUESTION(0, Y0, Y1)
	ADDQ    $64, SI
	ADDQ    $4, DI
	DECQ    CX
	JNZ     one

	STORE(0, Y0, Y1)
	VZEROUPPER
	RET

// PRODUCTS adds four products to one register of sums.
#define PRODUCTS(at, sum) \
	VCVTPS2PD   at(SI), Y4 \
	VCVTPS2PD   at(DI), Y5 \
	VFMADD231PD Y4, Y5, sum

// func addProductsAVX2(x, y *float32, blocks int, sums *[16]float64)
TEXT ·addProductsAVX2(SB), NOSPLIT, $0-32
	MOVQ    x+0(FP), SI
	MOVQ    y+8(FP), DI
	MOVQ    blocks+16(FP), CX
	MOVQ    sums+24(FP), DX
	VMOVUPD (DX), Y0
	VMOVUPD 32(DX), Y1
	VMOVUPD 64(DX), Y2
	VMOVUPD 96(DX), Y3

block:
	PRODUCTS(0, Y0)
	PRODUCTS(16, Y1)
	PRODUCTS(32, Y2)
	PRODUCTS(48, Y3)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ CX
	JNZ  block

	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VZEROUPPER
	RET
