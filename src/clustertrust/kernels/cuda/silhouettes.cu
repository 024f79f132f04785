// Dissimilarities of points to the clusters of all runs → silhouettes, Eq. (1), and the nearest other cluster.
//
// A thread is a point, POINTS threads a block; blockIdx.y is a group of runs whose clusters fit into shared memory, laid
// out [cluster][thread]. `group` holds the first run of each group and, last, R.

typedef long long Fixed;

#ifndef POINTS
#define POINTS 64  // fewer where a run has many clusters
#endif
#define AHEAD 8

struct How {         // see kernels/_numpy/sums.py: silhouettes
    int leaves_out;  // the mean over the own cluster leaves the point itself out
    int lone_zero;   // a point alone in its cluster has silhouette 0
    int root;        // a square root is taken in the end
};

// The silhouette of one point in one run from its mean dissimilarity to each cluster: mean(c), c = 0 … k - 1.
template <class Mean>
__device__ void judge(Mean mean, int own, int k, const double* sizes, double itself, double noise, How how,
                      double* s, int* nearest) {
    if (own < 0) {
        *s = __longlong_as_double(0x7ff8000000000000ll);
        *nearest = -1;
        return;
    }
    double b = __longlong_as_double(0x7ff0000000000000ll);
    int closest = -1;
    for (int c = 0; c < k; c++) {
        if (c == own) continue;
        const double value = mean(c);
        if (value < b) {
            b = value;
            closest = c;
        }
    }
    const double size = sizes[own];
    double a = mean(own);
    if (how.leaves_out) a = fmax(a * size - itself, 0.0) / fmax(size - 1.0, 1.0);
    *nearest = closest;
    if (closest < 0 || (how.lone_zero && size == 1.0)) {
        *s = 0.0;
        return;
    }
    a = a > noise ? a : 0.0;
    b = b > noise ? b : 0.0;
    if (how.root) {
        a = sqrt(a);
        b = sqrt(b);
    }
    const double top = fmax(a, b);
    *s = top == 0.0 ? 0.0 : (b - a) / top;
}

// From sums by cell (m, ld), whole numbers that stand for sum * scale. Clusters are unions of cells, and whole numbers
// add up exactly. `itself`, `within` and `diagonal` are there for kernels: a point's distance to the mean of a cluster
// in the space of a kernel is diagonal - 2 mean + within, Eq. (9). `place` is where a point stands in the results.
extern "C" __global__ void __launch_bounds__(POINTS)
from_sums(const Fixed* __restrict__ sums, long long ld, long long n, int m, double unscale,
          const int* __restrict__ cell_rows, int R, const int* __restrict__ start, const double* __restrict__ sizes,
          const int* __restrict__ own, const long long* __restrict__ place, const int* __restrict__ group,
          const double* __restrict__ within, const double* __restrict__ diagonal, const double* __restrict__ noise,
          int leaves_out, int lone_zero, int root, double* __restrict__ s, int* __restrict__ nearest) {
    extern __shared__ Fixed held[];
    const long long i = (long long)blockIdx.x * POINTS + threadIdx.x;
    const int low = group[blockIdx.y], high = group[blockIdx.y + 1], base = start[low], K = start[high] - base;
    for (int c = 0; c < K; c++) held[c * POINTS + threadIdx.x] = 0;
    if (i >= n) return;  // threads do not meet again
    for (int j = 0; j < m; j += AHEAD) {
        const int many = m - j < AHEAD ? m - j : AHEAD;
        Fixed value[AHEAD];  // several loads are on their way at once
#pragma unroll
        for (int a = 0; a < AHEAD; a++) value[a] = a < many ? sums[(long long)(j + a) * ld + i] : 0;
#pragma unroll
        for (int a = 0; a < AHEAD; a++) {
            for (int r = low; r < high && a < many; r++) {
                const int c = cell_rows[(long long)(j + a) * R + r];
                if (c >= 0) held[(start[r] - base + c) * POINTS + threadIdx.x] += value[a];
            }
        }
    }
    const How how = {leaves_out, lone_zero, root};
    for (int r = low; r < high; r++) {
        const int at = start[r] - base;
        auto mean = [&](int c) {
            double value = (double)held[(at + c) * POINTS + threadIdx.x] * unscale / sizes[start[r] + c];
            if (within) value = fmax(diagonal[i] - 2.0 * value + within[start[r] + c], 0.0);
            return value;
        };
        const long long to = place[i] * R + r;
        judge(mean, own[i * R + r], start[r + 1] - start[r], sizes + start[r], 0.0, noise ? noise[i] : 0.0, how, s + to,
              nearest + to);
    }
}

// From centres (K, d): |x - centre|² + spread, by differences, in double. x is features first, x[f * ld + i].
extern "C" __global__ void __launch_bounds__(POINTS)
from_centers(const double* __restrict__ x, long long ld, long long n, int d, const double* __restrict__ centers,
             const double* __restrict__ spread, int R, const int* __restrict__ start, const double* __restrict__ sizes,
             const int* __restrict__ own, const int* __restrict__ group, const double* __restrict__ noise, int leaves_out,
             int lone_zero, int root, double* __restrict__ s, int* __restrict__ nearest) {
    extern __shared__ double square[];
    const long long i = (long long)blockIdx.x * POINTS + threadIdx.x;
    const int low = group[blockIdx.y], high = group[blockIdx.y + 1], base = start[low], K = start[high] - base;
    if (i >= n) return;
    for (int c = 0; c < K; c++) {
        const double* center = centers + (long long)(base + c) * d;
        double sum = 0.0;
        for (int f = 0; f < d; f++) {
            const double t = x[(long long)f * ld + i] - center[f];
            sum += t * t;
        }
        square[c * POINTS + threadIdx.x] = spread ? sum + spread[base + c] : sum;
    }
    const How how = {leaves_out, lone_zero, root};
    for (int r = low; r < high; r++) {
        const int at = start[r] - base;
        auto mean = [&](int c) { return square[(at + c) * POINTS + threadIdx.x]; };
        judge(mean, own[i * R + r], start[r + 1] - start[r], sizes + start[r], 0.0, noise[i], how, s + i * R + r,
              nearest + i * R + r);
    }
}
