import type { Row } from '../data/import/upsert.js'
import { CHOICES, type PropertyType } from './choices.js'
import type { Random } from './random.js'

/** What the numbers of a building are; all zero on bare land. Areas in square feet, the lot in acres. */
export interface Building {
  readonly bedrooms: number
  readonly fullBaths: number
  readonly halfBaths: number
  readonly livingArea: number
  readonly yearBuilt: number | null
  readonly stories: number
  readonly units: number
  readonly acres: number
  readonly garage: number
}

const UNITS: Readonly<Record<string, number>> = { Duplex: 2, Triplex: 3, Quadruplex: 4, 'Multi Family': 12 }

/** Small flats have no land to speak of, farms have much. */
function pickAcres(random: Random, type: PropertyType, subType: string): number {
  if (subType === 'Condominium' || subType === 'Apartment') return random.between(0.02, 0.08)
  if (type === 'Land') return random.next() ** 3 * 80 + 0.15
  if (type === 'Farm') return random.between(10, 320)
  return random.next() ** 4 * 5 + 0.09
}

export function pickBuilding(random: Random, type: PropertyType, subType: string): Building {
  const acres = Math.round(pickAcres(random, type, subType) * 10000) / 10000
  if (type === 'Land')
    return {
      bedrooms: 0,
      fullBaths: 0,
      halfBaths: 0,
      livingArea: 0,
      yearBuilt: null,
      stories: 0,
      units: 0,
      acres,
      garage: 0,
    }
  const units = UNITS[subType] ?? 1
  const commercial = type.startsWith('Commercial') || type === 'Business Opportunity'
  const bedrooms = commercial ? 0 : random.pickUsual([3, 3, 4, 2, 3, 4, 5, 1, 2, 6, 7, 0]) * units
  const livingArea = commercial
    ? random.int(9, 240) * 100
    : Math.round(420 * units + bedrooms * random.between(280, 620) + random.int(0, 250))
  const fullBaths = Math.max(1, Math.round(bedrooms * random.between(0.4, 0.8)))
  const stories = random.pickUsual([1, 2, 1, 2, 3])
  const yearBuilt = random.chance(0.12) ? random.int(2024, 2026) : random.int(1898, 2023)
  return {
    bedrooms,
    fullBaths,
    halfBaths: random.pickUsual([0, 1, 0, 2]),
    livingArea,
    yearBuilt,
    stories,
    units,
    acres,
    garage: random.pickUsual([2, 2, 1, 0, 3, 4]),
  }
}

/** The kitchen of every fifth listing has just one thing to show. */
const pickAppliances = (random: Random) =>
  random.chance(0.2) ? random.pickSome(CHOICES.Appliances, 1, 1) : random.pickSome(CHOICES.Appliances, 0, 5)

const some = (random: Random, field: keyof typeof CHOICES, most = 4) =>
  random.pickSome<string>(CHOICES[field], 0, most)

/** Whether a yes-or-no field that follows from a list is known. */
const isAny = (random: Random, list: readonly string[]) => random.maybe(0.15, list.length > 0)

function toLot(random: Random, acres: number): Row {
  const inAcres = acres >= 1
  const feet = Math.round(acres * 43560)
  return {
    LotSizeArea: inAcres ? acres : feet,
    LotSizeUnits: inAcres ? 'Acres' : 'Square Feet',
    LotSizeAcres: acres,
    LotSizeSquareFeet: feet,
    LotFeatures: some(random, 'LotFeatures', 5),
    View: some(random, 'View', 3),
    WaterfrontYN: random.chance(0.06),
    Utilities: some(random, 'Utilities', 5),
    Sewer: some(random, 'Sewer', 1),
    WaterSource: some(random, 'WaterSource', 2),
    ExteriorFeatures: some(random, 'ExteriorFeatures', 3),
    SpecialListingConditions: random.chance(0.85)
      ? ['Standard']
      : some(random, 'SpecialListingConditions', 2),
  }
}

function toCounts(random: Random, building: Building): Row {
  const { bedrooms, fullBaths, halfBaths, livingArea, yearBuilt, stories, units, garage } = building
  return {
    BedroomsTotal: bedrooms,
    BathroomsFull: fullBaths,
    BathroomsHalf: halfBaths,
    BathroomsTotalInteger: fullBaths + halfBaths,
    RoomsTotal: random.maybe(0.2, bedrooms + random.int(2, 6)),
    LivingArea: livingArea,
    LivingAreaUnits: 'Square Feet',
    BuildingAreaTotal: random.maybe(0.15, livingArea + random.int(0, 4) * 120.5),
    BuildingAreaUnits: 'Square Feet',
    YearBuilt: random.maybe(0.03, yearBuilt),
    NewConstructionYN: (yearBuilt ?? 0) >= 2025,
    Stories: stories,
    NumberOfUnitsTotal: units,
    GarageSpaces: garage,
    GarageYN: garage > 0,
    ParkingTotal: random.maybe(0.3, garage + random.int(0, 4)),
  }
}

function toInterior(random: Random): Row {
  const fireplaces = random.pickUsual([0, 1, 0, 1, 2])
  const pool = random.chance(0.08) ? random.pickSome<string>(CHOICES.PoolFeatures, 1, 4) : []
  return {
    Levels: some(random, 'Levels', 1),
    ArchitecturalStyle: some(random, 'ArchitecturalStyle', 2),
    ConstructionMaterials: some(random, 'ConstructionMaterials'),
    Roof: some(random, 'Roof', 2),
    FoundationDetails: some(random, 'FoundationDetails', 2),
    Basement: some(random, 'Basement', 3),
    Flooring: some(random, 'Flooring', 5),
    Appliances: pickAppliances(random),
    InteriorFeatures: some(random, 'InteriorFeatures', 5),
    ParkingFeatures: some(random, 'ParkingFeatures', 5),
    PatioAndPorchFeatures: some(random, 'PatioAndPorchFeatures', 3),
    LaundryFeatures: some(random, 'LaundryFeatures', 2),
    PoolFeatures: pool,
    PoolPrivateYN: isAny(random, pool),
    SpaFeatures: random.chance(0.1) ? some(random, 'SpaFeatures', 2) : [],
    FireplaceYN: fireplaces > 0,
    FireplacesTotal: fireplaces,
    Heating: some(random, 'Heating', 3),
    Cooling: some(random, 'Cooling', 2),
    AccessibilityFeatures: random.chance(0.15) ? some(random, 'AccessibilityFeatures', 3) : [],
  }
}

/** The fields of building and lot. */
export const toBuildingFields = (random: Random, building: Building, type: PropertyType): Row => ({
  ...toLot(random, building.acres),
  ...(type === 'Land'
    ? { BedroomsTotal: 0, Appliances: [] }
    : { ...toCounts(random, building), ...toInterior(random) }),
})
