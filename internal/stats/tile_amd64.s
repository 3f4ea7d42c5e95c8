#include "textflag.h"

// PAIR adds the products of one of the four, Y10, with both of the two, Y8 and Y9, to
// their sums.
#define PAIR(from, first, second) \
	VMOVUPD (from)(BX*1), Y10 \
	VMULPD  Y8, Y10, Y11      \
	VADDPD  Y11, first, first \
	VMULPD  Y9, Y10, Y12      \
	VADDPD  Y12, second, second

// func tileAVX2(two *[2]*float64, four *[4]*float64, blocks int, sums *[8][4]float64)
TEXT ·tileAVX2(SB), NOSPLIT, $0-32
	MOVQ   two+0(FP), AX
	MOVQ   (AX), SI
	MOVQ   8(AX), DI
	MOVQ   four+8(FP), AX
	MOVQ   (AX), R8
	MOVQ   8(AX), R9
	MOVQ   16(AX), R10
	MOVQ   24(AX), R11
	MOVQ   blocks+16(FP), CX
	MOVQ   sums+24(FP), DX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	XORQ   BX, BX

block:
	VMOVUPD (SI)(BX*1), Y8
	VMOVUPD (DI)(BX*1), Y9
	PAIR(R8, Y0, Y4)
	PAIR(R9, Y1, Y5)
	PAIR(R10, Y2, Y6)
	PAIR(R11, Y3, Y7)
	ADDQ    $32, BX
	DECQ    CX
	JNZ     block

	VMOVUPD Y0, (DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VMOVUPD Y4, 128(DX)
	VMOVUPD Y5, 160(DX)
	VMOVUPD Y6, 192(DX)
	VMOVUPD Y7, 224(DX)
	VZEROUPPER
	RET
