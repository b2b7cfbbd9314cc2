// SHA-256 of a text in UTF-8: crypto.subtle is missing wherever a page comes by plain http.

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every(p => n % p)) PRIMES.push(n);
const fraction = value => ((value - Math.floor(value)) * 2 ** 32) | 0;
const FIRST = PRIMES.slice(0, 8).map(p => fraction(Math.sqrt(p)));
const ROUNDS = Int32Array.from(PRIMES, p => fraction(Math.cbrt(p)));

/** The message with a one, zeros and its length in bits, in whole blocks of 64 bytes. */
function padded(bytes) {
  const filled = new Uint8Array(((bytes.length + 8 >> 6) + 1) << 6);
  filled.set(bytes);
  filled[bytes.length] = 0x80;
  const view = new DataView(filled.buffer);
  view.setUint32(filled.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(filled.length - 4, bytes.length << 3);
  return view;
}

/** One block of 64 words into the sum. */
function mix(sum, w) {
  let a = sum[0], b = sum[1], c = sum[2], d = sum[3], e = sum[4], f = sum[5], g = sum[6], h = sum[7];
  for (let i = 0; i < 64; i++) {
    const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const t1 = h + s1 + (e & f ^ ~e & g) + ROUNDS[i] + w[i] | 0;
    const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
    h = g; g = f; f = e; e = d + t1 | 0;
    d = c; c = b; b = a; a = t1 + t2 | 0;
  }
  sum[0] += a; sum[1] += b; sum[2] += c; sum[3] += d;
  sum[4] += e; sum[5] += f; sum[6] += g; sum[7] += h;
}

export function sha256(text) {
  const view = padded(new TextEncoder().encode(text)), end = view.byteLength;
  const w = new Int32Array(64), sum = Int32Array.from(FIRST);
  for (let block = 0; block < end; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15], y = w[i - 2];
      const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;
      const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1 | 0;
    }
    mix(sum, w);
  }
  return Array.from(sum, word => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
