// Moments of the points of each cell.

// Mean (m, d) of the points of each cell, and the sum (m,) of their squared distances to it, in double. A block is a
// cell: its points are order[bounds[j]] … order[bounds[j + 1] - 1], rows of x (n, d). A thread is a feature and every
// G-th point; G sums are added in their order, so that the same bits come out each time. Sums are of differences from a
// point of the cell: those of the coordinates would lose digits far from the origin.
template <class Real>
__device__ void moments(const Real* x, int d, const long long* order, const long long* bounds, double* means,
                        double* squares) {
    __shared__ double held[256];
    const int tid = threadIdx.x, wide = d < 256 ? d : 256, G = 256 / wide, g = tid / wide;
    const long long j = blockIdx.x, low = bounds[j], high = bounds[j + 1];
    double total = 0.0;  // of squares, over the features of this thread
    for (int f0 = 0; f0 < d; f0 += wide) {
        const int f = f0 + tid % wide;
        const bool active = g < G && f < d;
        const double base = active ? (double)x[order[low] * d + f] : 0.0;
        double sum = 0.0;
        if (active)
            for (long long p = low + g; p < high; p += G) sum += (double)x[order[p] * d + f] - base;
        held[tid] = sum;
        __syncthreads();
        sum = 0.0;
        if (active)
            for (int other = 0; other < G; other++) sum += held[other * wide + tid % wide];
        const double mean = base + sum / (double)(high - low);
        if (active && g == 0) means[j * d + f] = mean;
        if (active)
            for (long long p = low + g; p < high; p += G) {
                const double t = (double)x[order[p] * d + f] - mean;
                total += t * t;
            }
        __syncthreads();
    }
    held[tid] = total;
    __syncthreads();
    for (int step = 128; step; step >>= 1) {
        if (tid < step) held[tid] += held[tid + step];
        __syncthreads();
    }
    if (tid == 0) squares[j] = held[0];
}

extern "C" __global__ void __launch_bounds__(256)
moments_single(const float* __restrict__ x, int d, const long long* __restrict__ order,
               const long long* __restrict__ bounds, double* __restrict__ means, double* __restrict__ squares) {
    moments(x, d, order, bounds, means, squares);
}

extern "C" __global__ void __launch_bounds__(256)
moments_double(const double* __restrict__ x, int d, const long long* __restrict__ order,
               const long long* __restrict__ bounds, double* __restrict__ means, double* __restrict__ squares) {
    moments(x, d, order, bounds, means, squares);
}
