import type { SeededRandom } from './random.js'

/** A city of the sample market, with its real name, position and postal codes. Prices are in US dollars. */
export interface City {
  readonly name: string
  readonly state: 'ID' | 'WA'
  readonly county: string
  /** Area of the market that the city belongs to. */
  readonly area: string
  readonly latitude: number
  readonly longitude: number
  /** Extent in degrees of latitude and longitude around the centre, without lakes. */
  readonly extent: readonly [number, number]
  readonly postalCodes: readonly string[]
  readonly phoneArea: string
  /** Price per square foot of an average house. */
  readonly pricePerFoot: number
}

type CityRow = readonly [
  name: string,
  county: string,
  area: string,
  latitude: number,
  longitude: number,
  latitudeReach: number,
  longitudeReach: number,
  phoneArea: string,
  pricePerFoot: number,
  postalCodes: string,
]

// Larger cities come first. Earlier entries are chosen more often.
const WASHINGTON: readonly CityRow[] = [
  [
    'Spokane',
    'Spokane',
    'Spokane',
    47.6588,
    -117.426,
    0.04,
    0.045,
    '509',
    235,
    '99201 99202 99203 99204 99205 99207 99208 99223',
  ],
  [
    'Seattle',
    'King',
    'Puget Sound',
    47.6205,
    -122.325,
    0.06,
    0.018,
    '206',
    560,
    '98102 98103 98105 98109 98112 98115 98118 98122 98144',
  ],
  [
    'Tacoma',
    'Pierce',
    'Puget Sound',
    47.2395,
    -122.465,
    0.025,
    0.035,
    '253',
    330,
    '98403 98404 98405 98406 98408 98409',
  ],
  [
    'Bellevue',
    'King',
    'Puget Sound',
    47.601,
    -122.175,
    0.025,
    0.025,
    '425',
    690,
    '98004 98005 98006 98007 98008',
  ],
  [
    'Vancouver',
    'Clark',
    'Southwest Washington',
    45.65,
    -122.62,
    0.02,
    0.06,
    '360',
    300,
    '98660 98661 98662 98664 98683 98684',
  ],
  [
    'Spokane Valley',
    'Spokane',
    'Spokane',
    47.6632,
    -117.2394,
    0.025,
    0.045,
    '509',
    230,
    '99206 99212 99216 99037',
  ],
  [
    'Everett',
    'Snohomish',
    'Puget Sound',
    47.94,
    -122.21,
    0.035,
    0.018,
    '425',
    400,
    '98201 98203 98204 98208',
  ],
  ['Bellingham', 'Whatcom', 'Puget Sound', 48.7519, -122.465, 0.02, 0.02, '360', 390, '98225 98226 98229'],
  ['Kennewick', 'Benton', 'Columbia Basin', 46.195, -119.16, 0.018, 0.05, '509', 240, '99336 99337 99338'],
  ['Yakima', 'Yakima', 'Columbia Basin', 46.594, -120.53, 0.02, 0.045, '509', 205, '98901 98902 98903 98908'],
  ['Olympia', 'Thurston', 'Puget Sound', 47.0379, -122.88, 0.02, 0.03, '360', 320, '98501 98502 98506'],
  ['Richland', 'Benton', 'Columbia Basin', 46.28, -119.29, 0.025, 0.015, '509', 255, '99352 99354'],
  ['Wenatchee', 'Chelan', 'Columbia Basin', 47.42, -120.325, 0.018, 0.012, '509', 295, '98801'],
  ['Walla Walla', 'Walla Walla', 'Columbia Basin', 46.0646, -118.33, 0.015, 0.03, '509', 245, '99362'],
  ['Pullman', 'Whitman', 'Palouse', 46.7298, -117.17, 0.012, 0.02, '509', 240, '99163'],
  ['Liberty Lake', 'Spokane', 'Spokane', 47.668, -117.11, 0.01, 0.018, '509', 260, '99019'],
]
const IDAHO: readonly CityRow[] = [
  [
    'Boise',
    'Ada',
    'Treasure Valley',
    43.605,
    -116.235,
    0.035,
    0.06,
    '208',
    310,
    '83702 83703 83704 83705 83706 83709 83713',
  ],
  ['Meridian', 'Ada', 'Treasure Valley', 43.6121, -116.3915, 0.035, 0.035, '208', 270, '83642 83646'],
  ["Coeur d'Alene", 'Kootenai', 'North Idaho', 47.7, -116.79, 0.016, 0.025, '208', 300, '83814 83815'],
  ['Nampa', 'Canyon', 'Treasure Valley', 43.5607, -116.5635, 0.03, 0.035, '208', 235, '83651 83686 83687'],
  ['Post Falls', 'Kootenai', 'North Idaho', 47.7225, -116.94, 0.015, 0.035, '208', 270, '83854'],
  [
    'Idaho Falls',
    'Bonneville',
    'Eastern Idaho',
    43.4917,
    -112.03,
    0.025,
    0.03,
    '208',
    205,
    '83401 83402 83404 83406',
  ],
  ['Caldwell', 'Canyon', 'Treasure Valley', 43.656, -116.675, 0.02, 0.025, '208', 225, '83605 83607'],
  ['Twin Falls', 'Twin Falls', 'Magic Valley', 42.563, -114.4609, 0.018, 0.03, '208', 210, '83301'],
  ['Pocatello', 'Bannock', 'Eastern Idaho', 42.8713, -112.4455, 0.018, 0.018, '208', 185, '83201 83204'],
  ['Eagle', 'Ada', 'Treasure Valley', 43.6954, -116.354, 0.015, 0.03, '208', 335, '83616'],
  ['Hayden', 'Kootenai', 'North Idaho', 47.766, -116.795, 0.014, 0.02, '208', 295, '83835'],
  ['Lewiston', 'Nez Perce', 'Palouse', 46.4, -117.005, 0.012, 0.025, '208', 200, '83501'],
  ['Moscow', 'Latah', 'Palouse', 46.7324, -117.0002, 0.012, 0.018, '208', 240, '83843'],
  ['Sandpoint', 'Bonner', 'North Idaho', 48.281, -116.562, 0.01, 0.012, '208', 330, '83864'],
  ['Ketchum', 'Blaine', 'Magic Valley', 43.6807, -114.37, 0.01, 0.008, '208', 780, '83340'],
]

const toCity =
  (state: City['state']) =>
  ([
    name,
    county,
    area,
    latitude,
    longitude,
    latitudeReach,
    longitudeReach,
    phoneArea,
    pricePerFoot,
    codes,
  ]: CityRow): City => ({
    name,
    state,
    county,
    area,
    latitude,
    longitude,
    extent: [latitudeReach, longitudeReach],
    postalCodes: codes.split(' '),
    phoneArea,
    pricePerFoot,
  })

const CITIES: readonly City[] = WASHINGTON.flatMap((row, place) =>
  [row, IDAHO[place]].flatMap((r, i) => (r ? [toCity(i ? 'ID' : 'WA')(r)] : [])),
)

// biome-ignore format: words
const STREET_NAMES = [
  'Main', 'Maple', 'Lincoln', 'Cedar', 'Pine', 'Lakeview', 'Division', 'Sherman', 'Washington', 'Garfield', 'Aspen', 'Ponderosa', 'River', 'Grandview',
  'Orchard', 'Sunset', 'Meadowlark', 'Fairview', 'Government', 'Ironwood', 'Tamarack', 'Huckleberry', 'Larch', 'Hawthorne', 'Overlook', 'Elk Ridge',
  "Chief Joseph's", "O'Malley", "Sportsman's Loop", "Pend d'Oreille", 'Señor Ángel', 'Café Row', '1st', '2nd', '3rd', '14th', '22nd', '101st',
]
// biome-ignore format: words
const STREET_SUFFIXES = ['Street', 'Avenue', 'Drive', 'Lane', 'Court', 'Road', 'Way', 'Place', 'Circle', 'Boulevard', 'Loop', 'Trail']
// biome-ignore format: words
const SUBDIVISIONS = [
  'Coeur d’Alene Place', 'Garland', 'Prairie Trails', 'The Highlands', "Miner's Creek", 'Harris Ranch', 'Bridgetower', 'Montrose', 'Foothills East',
  'Riverstone', 'Kendall Yards', 'Lake Forest', 'Paramount', 'Avimor', 'Brookside "Phase II"',
]

/** Address and position of a listing or an office. */
export interface Site {
  readonly city: City
  readonly postalCode: string
  readonly latitude: number
  readonly longitude: number
  readonly streetNumber: string
  readonly direction: string | null
  readonly streetName: string
  readonly streetSuffix: string
  readonly subdivision: string | null
}

export const pickCity = (random: SeededRandom): City => random.pickWeighted(CITIES)

/** Six decimals: about 0.1 m. */
const roundDegrees = (value: number) => Math.round(value * 1e6) / 1e6

/** The average of two uniform numbers, so that most positions are close to the centre. */
const pickCoordinate = (random: SeededRandom, centre: number, extent: number) =>
  roundDegrees(centre + (extent * (random.between(-1, 1) + random.between(-1, 1))) / 2)

export function pickSite(random: SeededRandom, city: City): Site {
  return {
    city,
    postalCode: random.pick(city.postalCodes),
    latitude: pickCoordinate(random, city.latitude, city.extent[0]),
    longitude: pickCoordinate(random, city.longitude, city.extent[1]),
    streetNumber: String(random.int(1, 199) * random.pick([1, 5, 12, 61])),
    direction: random.chance(0.45) ? random.pickWeighted(['N', 'W', 'E', 'S', 'NW', 'SE', 'NE', 'SW']) : null,
    streetName: random.pickWeighted(STREET_NAMES),
    streetSuffix: random.pickWeighted(STREET_SUFFIXES),
    subdivision: random.orNull(0.35, random.pick(SUBDIVISIONS)),
  }
}

/** Returns the street line of an address. */
export const renderStreet = (site: Site): string =>
  [site.streetNumber, site.direction, site.streetName, site.streetSuffix]
    .filter(part => part !== null)
    .join(' ')
