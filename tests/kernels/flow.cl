/* Control flow, pointers, aliasing, shapes, scopes. */

/* in and out may be one buffer */
__kernel void aliased(__global int *a, __global int *b, const int k)
{
    const int i = get_global_id(0);
    a[2 * i] += k;
    b[2 * i + 1] = a[2 * i] * 2;
    a[2 * i] = b[2 * i + 1] + a[2 * i + 1];
}

/* two names of one item's memory, within the item */
__kernel void same_item(__global int *a)
{
    __global int *p = a + get_global_id(0) * 4;
    __global int *q = p + 1;
    for (int k = 0; k < 3; k++) {
        q[k] = p[k] + 1;
        *p += q[k];
    }
    p[0]++;
}

__kernel void where(__global ulong *out)
{
    const size_t i = get_global_id(0) + get_global_size(0) *
                                            (get_global_id(1) + get_global_size(1) * get_global_id(2));
    ulong h = 17;
    for (uint d = 0; d < 4; d++) {
        h = h * 31 + get_global_id(d);
        h = h * 31 + get_local_id(d);
        h = h * 31 + get_group_id(d);
        h = h * 31 + get_global_size(d);
        h = h * 31 + get_local_size(d);
        h = h * 31 + get_num_groups(d);
        h = h * 31 + get_global_offset(d);
    }
    out[i] = h;
}

__kernel void where_fixed(__global int *out)
{
    const int x = get_group_id(0) * get_local_size(0) + get_local_id(0);
    const int y = get_group_id(1) * get_local_size(1) + get_local_id(1);
    const int z = get_global_id(2);
    const int at = (z * get_global_size(1) + y) * get_global_size(0) + x;
    out[at] = x + 1000 * y + 1000000 * z;
}

/* guards of many forms; what they keep out must stay as it was */
__kernel void guards_a(__global int *out, const int n, const uint m)
{
    const int i = get_global_id(0);
    const uint j = get_global_id(1);
    if (i >= n || !(j < m) || i < 2)
        return;
    out[j * get_global_size(0) + i] = 1;
}

__kernel void guards_b(__global int *out, const int n, const uint m)
{
    int i = get_global_id(0);
    size_t j = get_global_id(1);
    float unused = 3.0f;
    if (n > i && j <= m && 1 <= j && n != 12345) {
        unused += i;
        out[j * get_global_size(0) + i] = (int)unused;
    }
}

__kernel void guards_c(__global int *out, const int n)
{
    const uint i = get_global_id(0);
    const int twice = n * 2;
    if (twice == 0)
        return;
    if (i > twice)
        return;
    if (get_local_id(0) == 1)
        return;
    out[i] = 5;
}

__kernel void guard_changed(__global int *out, int n)
{
    int i = get_global_id(0);
    n = n / 2;
    i = i + 1;
    if (i > n)
        return;
    out[i - 1] = i;
}

void halve(int *value)
{
    *value /= 2;
}

__kernel void jumps(__global const int *in, __global int *out)
{
    const int i = get_global_id(0);
    int sum = 0;
    for (int a = 0;; a++) {
        if (a > in[i])
            break;
        if (a % 3 == 1)
            continue;
        int b = a;
        do {
            if (b == 7)
                break;
            sum += b;
            if (sum > 500)
                halve(&sum);
        } while (b-- > 0);
        switch (a % 5) {
        case 0:
            sum++;
        case 1:
            sum += 2;
            break;
        case 3: {
            const int c = a * 2;
            sum += c;
            if (c > 12)
                continue;
            break;
        }
        default:
            sum--;
        }
        while (sum > 10000)
            sum /= 2;
    }
    if (sum < 0) {
        out[i] = -1;
        return;
    }
    out[i] = sum;
}

/* names that are words of C, of libraries, or hidden by inner ones */
__kernel void names(__global int *strcpy, __global int *free, const int main)
{
    int printf_ = main, errno = 1, asm_ = 2;
    int u_x = 3, accel_i = 4, NULL_ = 5;
    {
        int errno = 10;
        for (int errno = 0; errno < 3; errno++)
            u_x += errno;
        asm_ += errno;
    }
    free[get_global_id(0)] = strcpy[get_global_id(0)] + printf_ + errno + asm_ + u_x + accel_i + NULL_;
}

typedef struct {
    float weight;
    int index[2];
} item_t;

#ifdef cl_khr_fp64 /* the device has doubles */
struct pair {
    item_t first;
    char tag;
    double second;
};
#endif

enum { FIRST = 3, SECOND, THIRD = FIRST * 10 };

item_t make(float w, int a, int b)
{
    item_t r;
    r.weight = w;
    r.index[0] = a;
    r.index[1] = b;
    return r;
}

#ifdef cl_khr_fp64
__kernel void records(__global struct pair *data, __global int *sizes)
{
    const int i = get_global_id(0);
    struct pair p = data[i];
    item_t it = make(p.first.weight * 2.0f, SECOND, THIRD);
    p.first = it;
    p.second += p.first.index[1] + p.tag;
    __global struct pair *at = &data[i];
    *at = p;
    at->tag = (char)(at->tag + FIRST);
    if (i == 0) {
        sizes[0] = sizeof(struct pair);
        sizes[1] = sizeof(item_t);
        sizes[2] = (int)sizeof p.first.index;
        sizes[3] = sizeof(long) * 100 + sizeof(char);
    }
}
#endif

int find(__global const int *sorted, int n, int key)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) >> 1;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__kernel void search(__global const int *sorted, const int n, __global const int *keys,
                     __global int *out)
{
    out[get_global_id(0)] = find(sorted, n, keys[get_global_id(0)]);
}

/* unsigned subscripts that rely on wrapping */
__kernel void wrapping(__global const int *in, __global int *out, const uint back, const uint n)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    int sum = in[i + back + 1u];
    if (i >= 1u)
        sum += in[i - 1u] * 10;
    if (i > 0)
        sum += in[i + back + back + 2u - 1u] * 100;
    out[n - 1u - i] = sum;
}

/* loops that all items run alike, with values that live across them */
__kernel void across(__global int *out, __global const int *in, const int n, const int m)
{
    uint a = get_global_id(0), b = 1;
    int total = 0;
    for (int i = 0, j = n; i < n; i++, j -= 2) {
        a = a * 3 + in[i];
        total += j;
        for (int k = 0; k < m; k++) {
            b ^= a + k * j;
            a -= in[k];
        }
        if (n > 100)
            break;
    }
    int twice = total * 2;
    for (int i = m; i > 0; i /= 2)
        b += in[i] * twice;
    out[get_global_id(0)] = (int)(a ^ b);
}

__kernel void bytes(__global uchar *image, const int width, const int height, const char invert)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) {
        const int at = y * width + x;
        bool high = image[at] > 127;
        short signed_value = (short)(image[at] - 128);
        if (invert)
            high = !high;
        image[at] = (uchar)(high ? 255 - signed_value : signed_value / 2);
    }
}
