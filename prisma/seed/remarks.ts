import type { Random } from './random.js'
import type { Site } from './places.js'

const OPENINGS = ['Welcome home!', 'Rare find:', 'Don’t miss this one.', 'Charming and cared for,', 'Move-in ready:', 'Bring your "someday" plans:', 'São Paulo style meets the Northwest 🌲:', 'ようこそ — ', 'Priced to sell.']
const MIDDLES = [
  'close to schools, parks and trails', "a short walk to the farmers' market", '5 minutes to downtown; 100% updated in 2021', 'light, quiet and well kept',
  "the previous owner's pride", 'with room for a garden, a shop & an R.V.', 'where the café on the corner knows your name ☕', 'new roof, new furnace, new windows',
]
const ENDINGS = ['Call for a showing.', 'Seller says: "Bring offers!"', 'Buyer to verify all information.', '', 'Agent is related to seller.', 'Se habla español.']

/** What the public reads about a listing: quotes, accents and other scripts are there on purpose. */
export const pickPublicRemarks = (random: Random, site: Site): string =>
  `${random.pickUsual(OPENINGS)} ${site.city.name}, ${random.pick(MIDDLES)}. ${random.pick(MIDDLES).replace(/^./u, first => first.toUpperCase())}. ${random.pick(ENDINGS)}`.trim()

export const pickPrivateRemarks = (random: Random): string =>
  random.pick(['Lockbox on the back door; code by phone.', "Seller's dog is friendly.", 'Vacant, go & show.', '24 h notice, please: day sleeper.', 'Offers reviewed Monday 5 p.m.'])

export const pickDirections = (random: Random, site: Site): string =>
  `From ${random.pick(['I-90', 'I-84', 'US-95', 'Main St'])} ${random.pick(['N', 'S', 'E', 'W'])} to ${site.streetName} ${site.streetSuffix}, ${random.pick(['left', 'right'])} at the ${random.pick(['school', 'bridge', '“Y”', 'water tower'])}.`
