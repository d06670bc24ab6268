/** The queries that may read more than their bound, with reasons. The list allows eight. */
export const EXCUSED: ReadonlyMap<number, string> = new Map([
  [
    15,
    'A dense circle in the order of prices: PostgreSQL takes latitude and longitude for independent and expects fewer listings in the circle than there are, so it sorts all of them. It stays within its buffers.',
  ],
  [
    16,
    'Words that two listings in a hundred have, in the order of prices: one index has the words, another one the order, and either reads some 1,500 listings and their texts.',
  ],
  [
    18,
    'The order of addresses: an index of addresses would cost each write, and the public may not see every address, so it would not serve the public. It stays within its buffers.',
  ],
  [
    26,
    "An order by a field of another record: the listing would have to hold its agent's name, and each change of a member would write all their listings.",
  ],
  [
    28,
    'A rare material in the order of prices: the index of materials finds a thousand listings, the order of prices passes four thousand cheap rows. PostgreSQL takes either; both stay within the buffers.',
  ],
  [
    32,
    'Staff only: PostgreSQL reads the listings side by side in the order of keys until it has found fifty, which is cheaper than looking up all that have an open house. It stays within its buffers.',
  ],
  [
    36,
    'MediaChangeTimestamp has no index: a change of media also sets ModificationTimestamp, so the second condition adds nothing, and the index would cost each write. The condition on ModificationTimestamp alone stays within its bound.',
  ],
])
