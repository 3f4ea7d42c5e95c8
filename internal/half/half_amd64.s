#include "textflag.h"

// func encodeF16C(dst *uint16, src *float32, eights int)
TEXT ·encodeF16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ eights+16(FP), CX

encode:
	VMOVUPS   (SI), Y0
	VCVTPS2PH $0, Y0, (DI) // to nearest, even
	ADDQ      $32, SI
	ADDQ      $16, DI
	DECQ      CX
	JNZ       encode
	VZEROUPPER
	RET

// func decodeF16C(dst *float32, src *uint16, eights int)
TEXT ·decodeF16C(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ eights+16(FP), CX

decode:
	VCVTPH2PS (SI), Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       decode
	VZEROUPPER
	RET
