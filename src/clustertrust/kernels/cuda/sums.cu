// Sums of dissimilarities from points to cells, each pair of points once where both sides are the same points.
//
// Compiled for one number of features and one kind of dissimilarity:
//   REAL   float or double, the type of coordinates and of a single dissimilarity
//   D      features, padded with zeros to a multiple of 4
//   CHUNK  features in shared memory at a time
//   KIND   0 Euclidean distance, 1 exp(-d2 / (si sj)), 2 exp(-gamma d2), 3 (gamma x.y + shift)^degree (linear: 1, 0, 1)
//
// A block owns a tile of 128 rows (points i) and goes through a span of tiles of 128 columns (points p). A thread owns
// 8 x 8 pairs, so that a value read from shared memory serves eight of them. Points come sorted by cell, features first:
// x[f * ld + i]. Distances come from differences: products would cancel for points that are near each other.
//
// Sums leave the block as whole numbers, sum * scale rounded. Adding those is exact in any order, so that atomic
// additions give the same bits each time.

typedef unsigned long long Word;

#define TILE 128
#define CHUNKS ((D + CHUNK - 1) / CHUNK)

#if __CUDA_ARCH__ >= 800  // copies that go on while threads compute
__device__ __forceinline__ void copy16(void* to, const void* from) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int LEFT> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT)); }
#else
__device__ __forceinline__ void copy16(void* to, const void* from) { *(int4*)to = *(const int4*)from; }
__device__ __forceinline__ void commit() {}
template <int LEFT> __device__ __forceinline__ void wait() {}
#endif

__device__ __forceinline__ float root(float x) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ double root(double x) { return sqrt(x); }

// One pair's dissimilarity from its accumulated square or product; `si` and `sj` are the scales of its points.
__device__ __forceinline__ REAL finish(REAL value, REAL si, REAL sj, REAL gamma, REAL shift, int degree) {
#if KIND == 0
    return root(value);
#elif KIND == 1
    return exp(-value / (si * sj));
#elif KIND == 2
    return exp(-gamma * value);
#else
    REAL base = gamma * value + shift, power = base;
    for (int e = 1; e < degree; e++) power *= base;
    return power;
#endif
}

// Copy `count` features of a tile of points into shared memory [f][128]; rows of x are padded to whole tiles.
__device__ __forceinline__ void load_tile(REAL* to, const REAL* x, long long ld, long long first, int f0, int count) {
    const int per_row = TILE * sizeof(REAL) / 16;  // pieces of 16 bytes
    for (int at = threadIdx.x; at < count * per_row; at += blockDim.x) {
        int f = at / per_row, piece = at % per_row;
        copy16((char*)(to + f * TILE) + piece * 16, (const char*)(x + (long long)(f0 + f) * ld + first) + piece * 16);
    }
}

__device__ __forceinline__ void add_fixed(Word* out, double sum, double scale) {
    atomicAdd(out, (Word)__double2ll_rn(sum * scale));
}

extern "C" __global__ void __launch_bounds__(256, sizeof(REAL) == 4 ? 2 : 1)
cell_sums(const REAL* __restrict__ rows, long long ld_rows, long long n_rows, const int* __restrict__ row_cell,
          const REAL* __restrict__ row_scale, const REAL* __restrict__ cols, long long ld_cols, long long n_cols,
          const int* __restrict__ col_cell, const REAL* __restrict__ col_scale, int symmetric, int span, double scale,
          REAL gamma, REAL shift, int degree, Word* __restrict__ out, long long ld_out) {
    extern __shared__ __align__(16) char memory[];
    REAL* A = (REAL*)memory;                                  // row tile: one stage where CHUNKS == 1, else two
    REAL* B = A + (CHUNKS == 1 ? 1 : 2) * CHUNK * TILE;       // column tile: two stages
    REAL* S = B + 2 * CHUNK * TILE;                           // distances of a mixed tile [128][129]; partial sums

    const int tid = threadIdx.x, tx = tid & 15, ty = tid >> 4;
    const long long I = blockIdx.x, first_row = I * TILE;
    const long long tiles = (n_cols + TILE - 1) / TILE;
    long long J = (symmetric ? I : 0) + (long long)blockIdx.y * span;
    if (J >= tiles) return;
    const long long end = J + span < tiles ? J + span : tiles;
    const long long last_row = (first_row + TILE < n_rows ? first_row + TILE : n_rows) - 1;
    const int cell_I = row_cell ? row_cell[first_row] : 0;
    const bool mixed_I = row_cell && row_cell[last_row] != cell_I;

    double held[8];  // sums of the thread's rows over the columns of cell `current`
    int current = -1;
    for (int r = 0; r < 8; r++) held[r] = 0.0;

    REAL scale_r[8];
#if KIND == 1
    for (int r = 0; r < 8; r++) scale_r[r] = row_scale[first_row + (r < 4 ? 0 : 64) + ty * 4 + (r & 3)];
#else
    for (int r = 0; r < 8; r++) scale_r[r] = 1;
#endif

    // Stage 0 of the pipeline; every stage brings one chunk of features of one column tile.
    load_tile(A, rows, ld_rows, first_row, 0, D < CHUNK ? D : CHUNK);
    load_tile(B, cols, ld_cols, J * TILE, 0, D < CHUNK ? D : CHUNK);
    commit();
    int stage = 0;

    for (; J < end; J++) {
        REAL acc[8][8];
        for (int r = 0; r < 8; r++)
            for (int c = 0; c < 8; c++) acc[r][c] = 0;

        for (int chunk = 0; chunk < CHUNKS; chunk++, stage ^= 1) {
            const bool more = chunk + 1 < CHUNKS;
            if (more || J + 1 < end) {
                const int f0 = more ? (chunk + 1) * CHUNK : 0;
                const int count = D - f0 < CHUNK ? D - f0 : CHUNK;
                load_tile(B + (stage ^ 1) * CHUNK * TILE, cols, ld_cols, (more ? J : J + 1) * TILE, f0, count);
                if (CHUNKS > 1) load_tile(A + (stage ^ 1) * CHUNK * TILE, rows, ld_rows, first_row, f0, count);
                commit();
                wait<1>();
            } else {
                wait<0>();
            }
            __syncthreads();
            const REAL* a_tile = A + (CHUNKS == 1 ? 0 : stage * CHUNK * TILE);
            const REAL* b_tile = B + stage * CHUNK * TILE;
            const int count = D - chunk * CHUNK < CHUNK ? D - chunk * CHUNK : CHUNK;
#pragma unroll 4
            for (int f = 0; f < count; f++) {
                REAL a[8], b[8];
#pragma unroll
                for (int r = 0; r < 8; r++) {
                    a[r] = a_tile[f * TILE + (r < 4 ? 0 : 64) + ty * 4 + (r & 3)];
                    b[r] = b_tile[f * TILE + (r < 4 ? 0 : 64) + tx * 4 + (r & 3)];
                }
#pragma unroll
                for (int r = 0; r < 8; r++)
#pragma unroll
                    for (int c = 0; c < 8; c++) {
#if KIND == 3
                        acc[r][c] += a[r] * b[c];
#else
                        REAL t = a[r] - b[c];
                        acc[r][c] += t * t;
#endif
                    }
            }
            __syncthreads();  // all have read this stage before it is written again
        }

        // Pairs → dissimilarities; what lies beyond the points counts nothing.
        const long long first_col = J * TILE;
        const long long last_col = (first_col + TILE < n_cols ? first_col + TILE : n_cols) - 1;
        const bool edge = first_row + TILE > n_rows || first_col + TILE > n_cols;
#pragma unroll
        for (int c = 0; c < 8; c++) {
            const int col = (c < 4 ? 0 : 64) + tx * 4 + (c & 3);
#if KIND == 1
            const REAL scale_c = col_scale[first_col + col];
#else
            const REAL scale_c = 1;
#endif
#pragma unroll
            for (int r = 0; r < 8; r++) {
                acc[r][c] = finish(acc[r][c], scale_r[r], scale_c, gamma, shift, degree);
                if (edge) {
                    const int row = (r < 4 ? 0 : 64) + ty * 4 + (r & 3);
                    if (first_row + row >= n_rows || first_col + col >= n_cols) acc[r][c] = 0;
                }
            }
        }

        const int cell_J = col_cell[first_col];
        const bool mixed_J = col_cell[last_col] != cell_J;
        const bool both = symmetric && J > I;  // the pairs stand for the columns' sums too

        if (mixed_J || cell_J != current) {  // the rows' sums over the cell before are complete
            if (current >= 0) {
#pragma unroll
                for (int r = 0; r < 8; r++) {
                    double sum = held[r];
                    for (int step = 8; step; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
                    const long long row = first_row + (r < 4 ? 0 : 64) + ty * 4 + (r & 3);
                    if (tx == 0 && row < n_rows) add_fixed(out + (long long)current * ld_out + row, sum, scale);
                    held[r] = 0.0;
                }
            }
            current = mixed_J ? -1 : cell_J;
        }
        if (!mixed_J) {
#pragma unroll
            for (int r = 0; r < 8; r++) {
                REAL sum = 0;
#pragma unroll
                for (int c = 0; c < 8; c++) sum += acc[r][c];
                held[r] += (double)sum;
            }
        }
        if (both && !mixed_I) {
            // Sixteen threads share a column: two of them in one warp, the warps meet in shared memory.
#pragma unroll
            for (int c = 0; c < 8; c++) {
                REAL sum = 0;
#pragma unroll
                for (int r = 0; r < 8; r++) sum += acc[r][c];
                sum += __shfl_xor_sync(0xffffffffu, sum, 16);
                if ((tid & 16) == 0) S[(tid >> 5) * TILE + (c < 4 ? 0 : 64) + tx * 4 + (c & 3)] = sum;
            }
            __syncthreads();
            if (tid < TILE && first_col + tid < n_cols) {
                double sum = 0.0;
                for (int w = 0; w < 8; w++) sum += (double)S[w * TILE + tid];
                add_fixed(out + (long long)cell_I * ld_out + first_col + tid, sum, scale);
            }
            __syncthreads();
        }
        if (mixed_J || (both && mixed_I)) {
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    S[((r < 4 ? 0 : 64) + ty * 4 + (r & 3)) * (TILE + 1) + (c < 4 ? 0 : 64) + tx * 4 + (c & 3)] = acc[r][c];
            __syncthreads();
            const int mine = tid & (TILE - 1);
            if (tid < TILE) {
                if (mixed_J && first_row + mine < n_rows) {  // along a row, one addition a cell
                    double sum = 0.0;
                    for (long long p = first_col; p <= last_col; p++) {
                        sum += (double)S[mine * (TILE + 1) + (int)(p - first_col)];
                        const int cell = col_cell[p];
                        if (p == last_col || col_cell[p + 1] != cell) {
                            add_fixed(out + (long long)cell * ld_out + first_row + mine, sum, scale);
                            sum = 0.0;
                        }
                    }
                }
            } else if (both && mixed_I && first_col + mine < n_cols) {  // along a column
                double sum = 0.0;
                for (long long i = first_row; i <= last_row; i++) {
                    sum += (double)S[(int)(i - first_row) * (TILE + 1) + mine];
                    const int cell = row_cell[i];
                    if (i == last_row || row_cell[i + 1] != cell) {
                        add_fixed(out + (long long)cell * ld_out + first_col + mine, sum, scale);
                        sum = 0.0;
                    }
                }
            }
            __syncthreads();
        }
    }

    if (current >= 0) {
#pragma unroll
        for (int r = 0; r < 8; r++) {
            double sum = held[r];
            for (int step = 8; step; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
            const long long row = first_row + (r < 4 ? 0 : 64) + ty * 4 + (r & 3);
            if (tx == 0 && row < n_rows) add_fixed(out + (long long)current * ld_out + row, sum, scale);
        }
    }
}

// totals[a * m + j] = sum over the points i of cell a of sums[j, i]: what a cluster's pairs among themselves come to.
extern "C" __global__ void cell_totals(const long long* __restrict__ sums, long long ld, const long long* __restrict__ bounds,
                                       int m, double unscale, double* __restrict__ totals) {
    const int a = blockIdx.x, j = blockIdx.y;
    __shared__ double part[128];
    double sum = 0.0;
    for (long long i = bounds[a] + threadIdx.x; i < bounds[a + 1]; i += blockDim.x)
        sum += (double)sums[(long long)j * ld + i] * unscale;
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 64; step; step >>= 1) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) totals[(long long)a * m + j] = part[0];
}
