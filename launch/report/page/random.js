// The program's random numbers (planner/cost/draws.h, as Boost.Random makes them), so that a page draws what it drew.
// mt19937_64: M. Matsumoto, T. Nishimura, 2000, seeded as in the C++ standard. Ziggurats: G. Marsaglia, W. W. Tsang,
// The Ziggurat Method for Generating Random Variables, 2000, of 256 layers (exponential) and 128 (normal). Their edges
// are computed here and agree with Boost's tables to 13 digits.

// Edges of the layers, the widest first; `first` is the width of a box of the lowest layer's area, its tail included.
function layers(first, tail, count, density, inverse) {
  const area = first * density(tail), edges = [first, tail];
  while (edges.length < count) {
    const last = edges[edges.length - 1];
    edges.push(inverse(area / last + density(last)));
  }
  return [...edges, 0];
}
const EXPONENTIAL_TAIL = 7.69711747013105, NORMAL_TAIL = 3.4426198558966522, NORMAL_FIRST = 3.7130862467403633;
const exponentialDensity = (x) => Math.exp(-x), normalDensity = (x) => Math.exp(-(x * x / 2));
const EXPONENTIAL = layers(EXPONENTIAL_TAIL + 1, EXPONENTIAL_TAIL, 256, exponentialDensity, (y) => -Math.log(y));
const NORMAL = layers(NORMAL_FIRST, NORMAL_TAIL, 128, normalDensity, (y) => Math.sqrt(-2 * Math.log(y)));
// Heights at the edges: 0 below the lowest layer.
const heights = (edges, density) => edges.map((x, i) => (i === 0 ? 0 : density(x)));
const EXPONENTIAL_HEIGHTS = heights(EXPONENTIAL, exponentialDensity), NORMAL_HEIGHTS = heights(NORMAL, normalDensity);

class Random {
  // 64 bits are two words of 32, of the seed too. A word is the one before, its highest two bits added to its lowest,
  // times 6364136223846793005, plus its number. Products of 16 bits are exact.
  constructor(low, high = 0) {
    const size = 312, factorHigh = 0x5851f42d, factorLow = 0x4c957f2d, low0 = factorLow & 0xffff,
          low1 = factorLow >>> 16;
    this.highs = new Uint32Array(size);
    this.lows = new Uint32Array(size);
    for (let i = 0; i < size; ++i) {
      if (i > 0) {
        const mixed = (low ^ (high >>> 30)) >>> 0, mixed0 = mixed & 0xffff, mixed1 = mixed >>> 16;
        const cross0 = mixed0 * low1, cross1 = mixed1 * low0;
        const sum = mixed0 * low0 + (cross0 % 65536 + cross1 % 65536) * 65536 + i;
        const carried =
          mixed1 * low1 + Math.floor(cross0 / 65536) + Math.floor(cross1 / 65536) + Math.floor(sum / 4294967296);
        high = (carried + Math.imul(mixed, factorHigh) + Math.imul(high, factorLow)) >>> 0;
        low = sum >>> 0;
      }
      this.highs[i] = high;
      this.lows[i] = low;
    }
    this.at = size;
    this.high = this.low = 0;
  }

  // Another sequence, seeded by the next 64 bits.
  fork() {
    this.next();
    return new Random(this.low, this.high);
  }

  twist() {
    const {highs, lows} = this, size = 312;
    for (let i = 0; i < size; ++i) {
      const far = i < 156 ? i + 156 : i - 156, high = highs[i];
      const low = (lows[i] & 0x80000000) | (lows[i + 1 < size ? i + 1 : 0] & 0x7fffffff), odd = low & 1;
      highs[i] = highs[far] ^ (high >>> 1) ^ (odd ? 0xb5026f5a : 0);
      lows[i] = lows[far] ^ ((low >>> 1) | (high << 31)) ^ (odd ? 0xa96619e9 : 0);
    }
    this.at = 0;
  }

  // The next 64 bits, in `high` and `low`.
  next() {
    if (this.at === 312) this.twist();
    let high = this.highs[this.at], low = this.lows[this.at++];
    const first = ((low >>> 29) | (high << 3)) & 0x55555555;
    high ^= (high >>> 29) & 0x55555555;
    low ^= first;
    const second = (high << 17) | (low >>> 15);
    high ^= second & 0x71d67fff;
    low ^= (low << 17) & 0xeda60000;
    high ^= (low << 5) & 0xfff7eee0;
    low ^= high >>> 11;
    this.high = high >>> 0;
    this.low = low >>> 0;
  }

  uniform() {
    for (;;) {
      this.next();
      const value = (this.high * 4294967296 + this.low) * 2 ** -64;
      if (value < 1) return value;
    }
  }

  // A number from 0 to 1 of the bits above the lowest 8, of which Boost clears one.
  share() {
    this.next();
    return (this.high * 16777216 + ((this.low & 0xfffff7ff) >>> 8)) * 2 ** -56;
  }

  unitExponential() {
    const edges = EXPONENTIAL, tall = EXPONENTIAL_HEIGHTS;
    for (let shift = 0;;) {
      const share = this.share(), i = this.low & 255, x = share * edges[i];
      if (x < edges[i + 1]) return shift + x;
      if (i === 0) {
        shift += edges[1];
        continue;
      }
      const u = this.uniform(), y = tall[i] + u * (tall[i + 1] - tall[i]);
      const above = (edges[i] - edges[i + 1]) * u - (edges[i] - x);
      const below = y - (tall[i + 1] + (edges[i + 1] - x) * tall[i + 1]);
      if (above < 0 && (below < 0 || y < exponentialDensity(x))) return x + shift;
    }
  }

  exponential(mean) { return mean * this.unitExponential(); }

  normalTail() {
    for (;;) {
      const x = this.unitExponential() / NORMAL_TAIL, y = this.unitExponential();
      if (2 * y > x * x) return x + NORMAL_TAIL;
    }
  }

  normal() {
    const edges = NORMAL, tall = NORMAL_HEIGHTS;
    for (;;) {
      const share = this.share(), bits = this.low & 255, sign = (bits & 1) * 2 - 1, i = bits >> 1, x = share * edges[i];
      if (x < edges[i + 1]) return x * sign;
      if (i === 0) return this.normalTail() * sign;
      const u = this.uniform(), y = tall[i] + u * (tall[i + 1] - tall[i]);
      const chord = (edges[i] - edges[i + 1]) * u - (edges[i] - x);
      const tangent = y - (tall[i] + (edges[i] - x) * tall[i] * edges[i]);
      // The density bends outwards above 1 and inwards below.
      const [above, below] = edges[i] >= 1 ? [chord, tangent] : [tangent, chord];
      if (above < 0 && (below < 0 || y < normalDensity(x))) return x * sign;
    }
  }
}
