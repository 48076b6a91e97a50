// What the page holds of a file: its bytes, packed by gzip, two a character. An error unless they are whole, as gzip's
// checksum says.
//
// A character of UTF-16 may have 63,229 values from U+0100 on that need no care: those below the surrogates, and those
// above without the last two. A number of 16 bits beyond has a mark before it.

const FIRST = 0x100;
const BELOW = 0xd800 - FIRST;
const ABOVE = 0xfffe - 0xe000;
const MARK = 0x21;

async function unpacked({ text, length }) {
  const packed = new Uint8Array(length + 1);
  let size = 0;
  for (let index = 0; index < text.length; index += 1) {
    let code = text.charCodeAt(index);
    const isBeyond = code === MARK;
    if (isBeyond) code = text.charCodeAt((index += 1));
    const value = (code < 0xe000 ? code - FIRST : code - 0xe000 + BELOW) + (isBeyond ? BELOW + ABOVE : 0);
    packed[size] = value & 0xff;
    packed[size + 1] = value >> 8;
    size += 2;
  }
  const stream = new Blob([packed.subarray(0, length)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
