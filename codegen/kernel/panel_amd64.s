#include "textflag.h"

// Matrix-vector products over panels of four rows. a is the first row, lda the
// distance of rows in entries, n the columns; mask has all bits set in the
// first n%4 of its four entries. Four columns (32 bytes) are one register.

// The sums of four registers Y0..Y3 in one, Y0. Clobbers Y2, Y4, Y5.
#define SUM4 \
	VHADDPD Y1, Y0, Y0            \
	VHADDPD Y3, Y2, Y2            \
	VPERM2F128 $0x20, Y2, Y0, Y4  \
	VPERM2F128 $0x31, Y2, Y0, Y5  \
	VADDPD Y5, Y4, Y0

// The rows of the panel at AX: BX, CX, DX. R8 is lda in bytes.
#define ROWS \
	LEAQ (AX)(R8*1), BX \
	LEAQ (BX)(R8*1), CX \
	LEAQ (CX)(R8*1), DX

#define CLEAR4 \
	VXORPD Y0, Y0, Y0 \
	VXORPD Y1, Y1, Y1 \
	VXORPD Y2, Y2, Y2 \
	VXORPD Y3, Y3, Y3

// What the two panel products share: their arguments after y and alpha, and the
// numbers of columns in whole registers (R12) and in pairs of them (R14).
#define PANELS \
	MOVQ a+16(FP), AX      \
	MOVQ lda+24(FP), R8    \
	MOVQ panels+32(FP), R13 \
	MOVQ n+40(FP), R9      \
	MOVQ x+48(FP), SI      \
	MOVQ mask+56(FP), R11  \
	VMOVUPD (R11), Y14     \
	SHLQ $3, R8            \
	MOVQ R9, R12           \
	ANDQ $-4, R12          \
	MOVQ R9, R14           \
	ANDQ $-8, R14

// Y4..Y7 are alpha, in X15, times the four entries of x at a place, each in all
// of its register.
#define SCALED4(x0, x1, x2, x3) \
	VMULSD x0, X15, X4   \
	VMULSD x1, X15, X5   \
	VMULSD x2, X15, X6   \
	VMULSD x3, X15, X7   \
	VBROADCASTSD X4, Y4  \
	VBROADCASTSD X5, Y5  \
	VBROADCASTSD X6, Y6  \
	VBROADCASTSD X7, Y7

// Y0..Y3 gain four columns of the rows times Y8.
#define DOT4 \
	VFMADD231PD (AX)(R10*8), Y8, Y0  \
	VFMADD231PD (BX)(R10*8), Y8, Y1  \
	VFMADD231PD (CX)(R10*8), Y8, Y2  \
	VFMADD231PD (DX)(R10*8), Y8, Y3

// The same with the columns in Y10..Y13.
#define DOT4LOADED \
	VFMADD231PD Y10, Y8, Y0  \
	VFMADD231PD Y11, Y8, Y1  \
	VFMADD231PD Y12, Y8, Y2  \
	VFMADD231PD Y13, Y8, Y3

// y gains Y10..Y13 times Y4..Y7.
#define AXPY4LOADED(y) \
	VFMADD231PD Y10, Y4, y  \
	VFMADD231PD Y11, Y5, y  \
	VFMADD231PD Y12, Y6, y  \
	VFMADD231PD Y13, Y7, y

// Y8 is the last columns of z, Y10..Y13 those of the rows.
#define MASKED(z) \
	VMASKMOVPD (z)(R10*8), Y14, Y8    \
	VMASKMOVPD (AX)(R10*8), Y14, Y10  \
	VMASKMOVPD (BX)(R10*8), Y14, Y11  \
	VMASKMOVPD (CX)(R10*8), Y14, Y12  \
	VMASKMOVPD (DX)(R10*8), Y14, Y13

// func gemvAVX(y *float64, alpha float64, a *float64, lda, panels, n int, x *float64, mask *[4]int64)
TEXT ·gemvAVX(SB), NOSPLIT, $0-64
	MOVQ y+0(FP), DI
	VBROADCASTSD alpha+8(FP), Y15
	PANELS

gnPanel:
	CMPQ R13, $0
	JEQ  gnDone
	ROWS
	CLEAR4
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	XORQ R10, R10

gnPair:
	CMPQ R10, R14
	JGE  gnOne
	VMOVUPD (SI)(R10*8), Y8
	VMOVUPD 32(SI)(R10*8), Y9
	DOT4
	VFMADD231PD 32(AX)(R10*8), Y9, Y4
	VFMADD231PD 32(BX)(R10*8), Y9, Y5
	VFMADD231PD 32(CX)(R10*8), Y9, Y6
	VFMADD231PD 32(DX)(R10*8), Y9, Y7
	ADDQ $8, R10
	JMP  gnPair

gnOne:
	CMPQ R10, R12
	JGE  gnTail
	VMOVUPD (SI)(R10*8), Y8
	DOT4
	ADDQ $4, R10

gnTail:
	CMPQ R10, R9
	JGE  gnSum
	MASKED(SI)
	DOT4LOADED

gnSum:
	VADDPD Y4, Y0, Y0
	VADDPD Y5, Y1, Y1
	VADDPD Y6, Y2, Y2
	VADDPD Y7, Y3, Y3
	SUM4
	VMOVUPD (DI), Y8
	VFMADD231PD Y0, Y15, Y8
	VMOVUPD Y8, (DI)
	ADDQ $32, DI
	LEAQ (DX)(R8*1), AX
	DECQ R13
	JMP  gnPanel

gnDone:
	VZEROUPPER
	RET

// func gemvTAVX(y *float64, alpha float64, a *float64, lda, panels, n int, x *float64, mask *[4]int64)
TEXT ·gemvTAVX(SB), NOSPLIT, $0-64
	MOVQ y+0(FP), DI
	VMOVSD alpha+8(FP), X15
	PANELS

gtPanel:
	CMPQ R13, $0
	JEQ  gtDone
	ROWS
	SCALED4((SI), 8(SI), 16(SI), 24(SI))
	XORQ R10, R10

gtPair:
	CMPQ R10, R14
	JGE  gtOne
	VMOVUPD (DI)(R10*8), Y8
	VMOVUPD 32(DI)(R10*8), Y9
	VFMADD231PD (AX)(R10*8), Y4, Y8
	VFMADD231PD 32(AX)(R10*8), Y4, Y9
	VFMADD231PD (BX)(R10*8), Y5, Y8
	VFMADD231PD 32(BX)(R10*8), Y5, Y9
	VFMADD231PD (CX)(R10*8), Y6, Y8
	VFMADD231PD 32(CX)(R10*8), Y6, Y9
	VFMADD231PD (DX)(R10*8), Y7, Y8
	VFMADD231PD 32(DX)(R10*8), Y7, Y9
	VMOVUPD Y8, (DI)(R10*8)
	VMOVUPD Y9, 32(DI)(R10*8)
	ADDQ $8, R10
	JMP  gtPair

gtOne:
	CMPQ R10, R12
	JGE  gtTail
	VMOVUPD (DI)(R10*8), Y8
	VFMADD231PD (AX)(R10*8), Y4, Y8
	VFMADD231PD (BX)(R10*8), Y5, Y8
	VFMADD231PD (CX)(R10*8), Y6, Y8
	VFMADD231PD (DX)(R10*8), Y7, Y8
	VMOVUPD Y8, (DI)(R10*8)
	ADDQ $4, R10

gtTail:
	CMPQ R10, R9
	JGE  gtNext
	MASKED(DI)
	AXPY4LOADED(Y8)
	VMASKMOVPD Y8, Y14, (DI)(R10*8)

gtNext:
	ADDQ $32, SI
	LEAQ (DX)(R8*1), AX
	DECQ R13
	JMP  gtPanel

gtDone:
	VZEROUPPER
	RET

// func symvAVX(y *float64, alpha float64, a *float64, lda, from, panels int, x *float64)
// Panel k covers rows from+4k to from+4k+3 of the lower triangle; a is row from.
TEXT ·symvAVX(SB), NOSPLIT, $0-56
	MOVQ y+0(FP), DI
	VBROADCASTSD alpha+8(FP), Y15
	MOVQ a+16(FP), AX
	MOVQ lda+24(FP), R8
	MOVQ from+32(FP), R9
	MOVQ panels+40(FP), R13
	MOVQ x+48(FP), SI
	SHLQ $3, R8

syPanel:
	CMPQ R13, $0
	JEQ  syDone
	ROWS
	CLEAR4
	SCALED4((SI)(R9*8), 8(SI)(R9*8), 16(SI)(R9*8), 24(SI)(R9*8))
	XORQ R10, R10

syColumn:
	CMPQ R10, R9
	JGE  syDiagonal
	VMOVUPD (SI)(R10*8), Y8
	VMOVUPD (DI)(R10*8), Y9
	VMOVUPD (AX)(R10*8), Y10
	VMOVUPD (BX)(R10*8), Y11
	VMOVUPD (CX)(R10*8), Y12
	VMOVUPD (DX)(R10*8), Y13
	DOT4LOADED
	AXPY4LOADED(Y9)
	VMOVUPD Y9, (DI)(R10*8)
	ADDQ $4, R10
	JMP  syColumn

syDiagonal: // the whole 4 x 4 block, for its rows only
	VMOVUPD (SI)(R10*8), Y8
	DOT4
	SUM4
	VMOVUPD (DI)(R10*8), Y8
	VFMADD231PD Y0, Y15, Y8
	VMOVUPD Y8, (DI)(R10*8)
	ADDQ $4, R9
	LEAQ (DX)(R8*1), AX
	DECQ R13
	JMP  syPanel

syDone:
	VZEROUPPER
	RET

// func dotAVX(a, b *float64, n int) float64: n a multiple of 4
TEXT ·dotAVX(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), BX
	MOVQ n+16(FP), R9
	MOVQ R9, R12
	ANDQ $-16, R12
	CLEAR4
	XORQ R10, R10

dFour:
	CMPQ R10, R12
	JGE  dOne
	VMOVUPD (AX)(R10*8), Y4
	VMOVUPD 32(AX)(R10*8), Y5
	VMOVUPD 64(AX)(R10*8), Y6
	VMOVUPD 96(AX)(R10*8), Y7
	VFMADD231PD (BX)(R10*8), Y4, Y0
	VFMADD231PD 32(BX)(R10*8), Y5, Y1
	VFMADD231PD 64(BX)(R10*8), Y6, Y2
	VFMADD231PD 96(BX)(R10*8), Y7, Y3
	ADDQ $16, R10
	JMP  dFour

dOne:
	CMPQ R10, R9
	JGE  dDone
	VMOVUPD (AX)(R10*8), Y4
	VFMADD231PD (BX)(R10*8), Y4, Y0
	ADDQ $4, R10
	JMP  dOne

dDone:
	VADDPD Y1, Y0, Y0
	VADDPD Y3, Y2, Y2
	VADDPD Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD X1, X0, X0
	VUNPCKHPD X0, X0, X1
	VADDSD X1, X0, X0
	VMOVSD X0, ret+24(FP)
	VZEROUPPER
	RET

// func axpyAVX(y, a *float64, c float64, n int): n a multiple of 4
TEXT ·axpyAVX(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ a+8(FP), AX
	VBROADCASTSD c+16(FP), Y4
	MOVQ n+24(FP), R9
	MOVQ R9, R12
	ANDQ $-8, R12
	XORQ R10, R10

aTwo:
	CMPQ R10, R12
	JGE  aOne
	VMOVUPD (DI)(R10*8), Y0
	VMOVUPD 32(DI)(R10*8), Y1
	VFMADD231PD (AX)(R10*8), Y4, Y0
	VFMADD231PD 32(AX)(R10*8), Y4, Y1
	VMOVUPD Y0, (DI)(R10*8)
	VMOVUPD Y1, 32(DI)(R10*8)
	ADDQ $8, R10
	JMP  aTwo

aOne:
	CMPQ R10, R9
	JGE  aDone
	VMOVUPD (DI)(R10*8), Y0
	VFMADD231PD (AX)(R10*8), Y4, Y0
	VMOVUPD Y0, (DI)(R10*8)

aDone:
	VZEROUPPER
	RET
