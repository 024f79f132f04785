// k-means, all runs in step. x is features first, x[f * ld + i]; centres are (R, k, d).

// Label and squared distance of the nearest centre of a run for each point, the first on ties; blockIdx.y is the place
// of the run in `active`. `changed` counts points whose label is another than before.
extern "C" __global__ void __launch_bounds__(128)
assign(const float* __restrict__ x, long long ld, long long n, int d, const float* __restrict__ centers, int k,
       const int* __restrict__ active, int* __restrict__ labels, float* __restrict__ distance,
       unsigned* __restrict__ changed) {
    extern __shared__ float held[];  // eight centres at a time: a coordinate is read once for all of them
    const int run = active[blockIdx.y];
    const float* mine = centers + (long long)run * k * d;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float best = __int_as_float(0x7f800000);
    int label = 0;
    for (int c0 = 0; c0 < k; c0 += 8) {
        const int many = k - c0 < 8 ? k - c0 : 8;
        __syncthreads();
        for (int at = threadIdx.x; at < many * d; at += blockDim.x) held[at] = mine[c0 * d + at];
        __syncthreads();
        if (i >= n) continue;
        float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int f = 0; f < d; f++) {
            const float value = x[(long long)f * ld + i];
#pragma unroll
            for (int c = 0; c < 8; c++)
                if (c < many) {
                    const float t = value - held[c * d + f];
                    sum[c] += t * t;
                }
        }
#pragma unroll
        for (int c = 0; c < 8; c++)
            if (c < many && sum[c] < best) {
                best = sum[c];
                label = c0 + c;
            }
    }
    bool moved = false;
    if (i < n) {
        const long long at = (long long)run * n + i;
        moved = labels[at] != label;
        labels[at] = label;
        if (distance) distance[at] = best;
    }
    const unsigned count = __popc(__ballot_sync(0xffffffffu, moved));
    if ((threadIdx.x & 31) == 0 && count) atomicAdd(changed + run, count);
}

// Sums of the points of each cluster, and their number, over one part of the points: parts (P, R, k, d + 1). A thread
// is a cluster and a feature (feature d counts); points come through shared memory. Parts are added up in their order
// by whoever reads them, so that the same bits come out each time.
extern "C" __global__ void __launch_bounds__(256)
partial_sums(const float* __restrict__ x, long long ld, long long n, int d, const int* __restrict__ labels, int k,
             const int* __restrict__ active, int R, long long per_part, int batch, double* __restrict__ parts) {
    extern __shared__ float held[];  // [d][batch + 1], then labels [batch]
    int* label = (int*)(held + d * (batch + 1));
    const int run = active[blockIdx.y];
    const long long first = blockIdx.x * per_part, last = first + per_part < n ? first + per_part : n;
    const int wide = d + 1;
    for (int slot0 = 0; slot0 < k * wide; slot0 += blockDim.x) {
        const int slot = slot0 + threadIdx.x, c = slot / wide, f = slot % wide;
        double sum = 0.0;
        for (long long low = first; low < last; low += batch) {
            const int many = last - low < batch ? (int)(last - low) : batch;
            __syncthreads();
            for (int at = threadIdx.x; at < d * many; at += blockDim.x)
                held[(at / many) * (batch + 1) + at % many] = x[(long long)(at / many) * ld + low + at % many];
            for (int at = threadIdx.x; at < many; at += blockDim.x) label[at] = labels[(long long)run * n + low + at];
            __syncthreads();
            if (slot < k * wide) {
                float part = 0.0f;
                for (int p = 0; p < many; p++)
                    if (label[p] == c) part += f < d ? held[f * (batch + 1) + p] : 1.0f;
                sum += (double)part;
            }
        }
        if (slot < k * wide) parts[(((long long)blockIdx.x * R + run) * k + c) * wide + f] = sum;
    }
}

// Sum the parts in their order and put each centre at the mean of its points; one without points stays. Writes sums
// (R, k, d + 1) for whoever mends empty clusters, and the squared shift of the centres of each run.
extern "C" __global__ void __launch_bounds__(128)
move_centers(const double* __restrict__ parts, int n_parts, int k, int d, const int* __restrict__ active, int R,
             float* __restrict__ centers, double* __restrict__ sums, double* __restrict__ shift) {
    const int run = active[blockIdx.x], wide = d + 1;
    __shared__ double moved[128];
    for (int slot = threadIdx.x; slot < k * wide; slot += blockDim.x) {
        double sum = 0.0;
        for (int p = 0; p < n_parts; p++) sum += parts[((long long)p * R + run) * k * wide + slot];
        sums[(long long)run * k * wide + slot] = sum;
    }
    __syncthreads();
    double total = 0.0;
    for (int at = threadIdx.x; at < k * d; at += blockDim.x) {
        const int c = at / d, f = at % d;
        const double count = sums[((long long)run * k + c) * wide + d];
        const float before = centers[(long long)run * k * d + at];
        const float after = count > 0.0 ? (float)(sums[((long long)run * k + c) * wide + f] / count) : before;
        centers[(long long)run * k * d + at] = after;
        const double t = (double)after - (double)before;
        total += t * t;
    }
    moved[threadIdx.x] = total;
    __syncthreads();
    for (int step = 64; step; step >>= 1) {
        if (threadIdx.x < step) moved[threadIdx.x] += moved[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) shift[run] = moved[0];
}

// Label of the nearest centre, in double: the rule by which unseen points are placed, for the points of the fit as well.
extern "C" __global__ void __launch_bounds__(128)
place(const double* __restrict__ x, long long ld, long long n, int d, const double* __restrict__ centers, int k,
      int* __restrict__ labels) {
    const int run = blockIdx.y;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double best = __longlong_as_double(0x7ff0000000000000ll);
    int label = 0;
    for (int c = 0; c < k; c++) {
        const double* center = centers + ((long long)run * k + c) * d;
        double sum = 0.0;
        for (int f = 0; f < d; f++) {
            const double t = x[(long long)f * ld + i] - center[f];
            sum += t * t;
        }
        if (sum < best) {
            best = sum;
            label = c;
        }
    }
    labels[i * gridDim.y + run] = label;
}

// Squared distances of all points to `trials` candidates of each run, never more than those to the centres chosen so
// far (`closest`, (R, n)): out (R, trials, n). blockIdx.y is the run, blockIdx.z the candidate.
extern "C" __global__ void __launch_bounds__(128)
to_candidates(const float* __restrict__ x, long long ld, long long n, int d, const long long* __restrict__ candidates,
              int trials, const float* __restrict__ closest, float* __restrict__ out) {
    const int run = blockIdx.y, trial = blockIdx.z;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long p = candidates[run * trials + trial];
    float sum = 0.0f;
    for (int f = 0; f < d; f++) {
        const float t = x[(long long)f * ld + i] - x[(long long)f * ld + p];
        sum += t * t;
    }
    const float before = closest[(long long)run * n + i];
    out[((long long)run * trials + trial) * n + i] = sum < before ? sum : before;
}
