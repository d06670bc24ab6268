import type { Site } from './cities-and-sites.js'
import type { SeededRandom } from './random.js'

// biome-ignore format: words
const OPENINGS = [
  'Welcome home!', 'Rare find:', 'Don’t miss this one.', 'Charming and cared for,', 'Move-in ready:', 'Bring your "someday" plans:',
  'São Paulo style meets the Northwest 🌲:', 'ようこそ — ', 'Priced to sell.',
]
// biome-ignore format: words
const MIDDLES = [
  'close to schools, parks and trails', "a short walk to the farmers' market", '5 minutes to downtown; 100% updated in 2021', 'light, quiet and well kept',
  "the previous owner's pride", 'with room for a garden, a shop & an R.V.', 'where the café on the corner knows your name ☕',
  'new roof, new furnace, new windows',
]
// biome-ignore format: words
const ENDINGS = [
  'Call for a showing.', 'Seller says: "Bring offers!"', 'Buyer to verify all information.', '', 'Agent is related to seller.', 'Se habla español.',
]

const toSentence = (text: string) => `${text.replace(/^./u, first => first.toUpperCase())}.`

/** Returns public remarks. They deliberately contain quotes, accents and other scripts. */
export const pickPublicRemarks = (random: SeededRandom, site: Site): string =>
  [
    random.pickWeighted(OPENINGS),
    `${site.city.name}, ${random.pick(MIDDLES)}.`,
    toSentence(random.pick(MIDDLES)),
    random.pick(ENDINGS),
  ]
    .join(' ')
    .trim()

const PRIVATE_REMARKS = [
  'Lockbox on the back door; code by phone.',
  "Seller's dog is friendly.",
  'Vacant, go & show.',
  '24 h notice, please: day sleeper.',
]

export const pickPrivateRemarks = (random: SeededRandom): string => random.pick(PRIVATE_REMARKS)

export function pickDirections(random: SeededRandom, site: Site): string {
  const from = `From ${random.pick(['I-90', 'I-84', 'US-95', 'Main St'])} ${random.pick(['N', 'S', 'E', 'W'])}`
  const turn = `${random.pick(['left', 'right'])} at the ${random.pick(['school', 'bridge', '“Y”', 'water tower'])}`
  return `${from} to ${site.streetName} ${site.streetSuffix}, ${turn}.`
}
